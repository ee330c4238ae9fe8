"""The catalogue of texts: the languages agree, no text is missing, and none is for nothing."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from client import RefusedError
from console.page_names import PAGES, name_pages
from console.service_clients import sentence_of
from console.texts import LANGUAGES, TextCatalogue, Texts
from tests.fixtures.console.words import ADDRESS

ROOT = Path(__file__).parents[3]
KEYS = TextCatalogue().keys(LANGUAGES[0])
QUOTED = re.compile(r"""(["'])((?:(?!\1)[\w.])*\.[\w.]*)(?:\1|\{)""")
"""A string with a point, or the beginning of one up to its first field."""
ASKED_FOR = re.compile(r"""\b(?:t|texts|error)\(\s*["']([\w.]+)["']\s*[,)]""")


def sources() -> Iterator[str]:
    root = Path(str(files("console")))
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.j2")]):
        yield path.read_text(encoding="utf-8")


def quoted_strings() -> set[str]:
    return {found[1] for text in sources() for found in QUOTED.findall(text)} - {"."}


def is_used(key: str, quoted: set[str]) -> bool:
    """Returns whether a template or module names a text.

    It is quoted whole, `"drafts.approve"`. Or its key is made at runtime: then its beginning is quoted up to the last
    point, `"drafts.states." ~ state`, or what follows the screen, `screen ~ ".nav"`.
    """
    rest = key.partition(".")[2]
    return any(
        each == key
        or (each.endswith(".") and key.startswith(each))
        or (each.startswith(".") and f".{rest}".startswith(each))
        for each in quoted
    )


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_all_languages_have_the_same_texts(language: str) -> None:
    assert TextCatalogue().keys(language) ^ KEYS == set()


def test_every_text_is_used() -> None:
    quoted = quoted_strings()
    assert sorted(key for key in KEYS if not is_used(key, quoted)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_has_the_name_of_its_entry_in_the_navigation(language: str) -> None:
    catalogue = TextCatalogue()
    screens = {key.removesuffix(".nav") for key in KEYS if re.fullmatch(r"\w+\.nav", key)}
    others = {
        screen: title
        for screen in screens
        if (title := f"{screen}.title") in KEYS
        and catalogue.find(language, title) != catalogue.find(language, f"{screen}.nav")
    }
    assert others == {}


def test_every_text_that_is_asked_for_exists() -> None:
    asked = {key for text in sources() for key in ASKED_FOR.findall(text)}
    assert sorted(asked - KEYS) == []


@pytest.mark.parametrize(
    ("language", "timespec", "shown"),
    [
        ("en", "minutes", "29 Nov 2026, 19:22"),
        ("en", "seconds", "29 Nov 2026, 19:22:05"),
        ("en", "milliseconds", "29 Nov 2026, 19:22:05.125"),
        ("de", "milliseconds", "29. Nov. 2026, 19:22:05,125"),
    ],
)
def test_a_moment_is_written_as_finely_as_a_page_needs(language: str, timespec: Any, shown: str) -> None:
    texts = Texts(TextCatalogue(), language, "Europe/Berlin")
    assert f">{shown}</time>" in texts.time("2026-11-29T18:22:05.125Z", timespec)


LISTED = re.compile(r"^\| `([\w.]+)` \| \d", re.MULTILINE)
NOT_ON_SCREENS = re.compile(
    # What only a wrong program sends, and what the gateway tells services alone.
    r"malformed_request|method_not_allowed|unsupported_media_type|duplicate_member|unknown_parameter|invalid_cursor"
    r"|idempotency_key_\w+|too_many_wrong_keys|call\.fenced|key\.used|mail\.\w+|page\.\w+"
)


def test_each_refusal_that_screens_can_meet_has_a_sentence_in_each_language() -> None:
    listed = set(LISTED.findall((ROOT / "docs" / "problem-codes.md").read_text(encoding="utf-8")))
    assert len(listed) > 100
    met = {code for code in listed if not NOT_ON_SCREENS.fullmatch(code)}
    assert {key.removeprefix("problems.") for key in KEYS if key.startswith("problems.")} == met


def test_a_refusal_is_said_in_the_readers_language_and_one_that_is_new_as_the_service_says_it() -> None:
    german = Texts(TextCatalogue(), "de")
    told = RefusedError("", 422, {"code": "invalid_list", "detail": "line 3 has {none}"})
    assert sentence_of(told, german) == "Die Liste der Keywords kann nicht gelesen werden: line 3 has {none}"
    assert sentence_of(told, Texts(TextCatalogue(), "en")) == "line 3 has {none}"
    new = RefusedError("", 409, {"code": "of_tomorrow", "detail": "not so"})
    assert sentence_of(new, german) == "not so"
    assert sentence_of(RefusedError("it answers 502", 502, {}), german) == "it answers 502"


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("most_hashtags", "Hashtags at most: no"),
        ("menu[1].to", "Menu, entry 2: no"),
        ("quiet_hours.time_zone", "Time zone: no"),
        ("of_tomorrow", "Of tomorrow: no"),
        ("", "no"),
    ],
)
def test_a_refused_field_has_the_name_that_people_know(field: str, shown: str) -> None:
    problem = {"code": "invalid_request", "detail": f"{field}: no" if field else "no"}
    problem["errors"] = [{"field": field, "detail": "no"}]  # type: ignore[assignment]
    assert sentence_of(RefusedError("", 422, problem), Texts(TextCatalogue(), "en")) == shown


def test_no_person_reads_a_pattern() -> None:
    problem = {
        "code": "invalid_request",
        "detail": "x",
        "errors": [{"field": "language", "detail": "does not match ^[a-z]+$"}],
    }
    said = sentence_of(RefusedError("", 422, problem), Texts(TextCatalogue(), "en"))
    assert said == "Language: this is not written in the form that is needed"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_names_an_address_of_an_api(language: str) -> None:
    catalogue = TextCatalogue()
    assert [key for key in KEYS if ADDRESS.search(str(catalogue.find(language, key)))] == []


def refusals() -> Iterator[str]:
    """The sentences in which services refuse requests, with `x` for each value."""
    for path in sorted(ROOT.glob("services/*/src/**/*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error"):
                for part in call.args:
                    yield "".join(
                        str(each.value) if isinstance(each, ast.Constant) else "x"
                        for each in (part.values if isinstance(part, ast.JoinedStr) else [part])
                    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_names_a_page_in_the_place_of_an_address(language: str) -> None:
    texts = Texts(TextCatalogue(), language)
    named = [name_pages(each, texts) for each in refusals() if ADDRESS.search(each)]
    assert len(named) > 5
    assert [each for each in named if ADDRESS.search(each)] == []
    # Each address of a refusal belongs to a page.
    assert [each for each in named if texts("layout.other_page") in each] == []


def sentences_with_commands() -> Iterator[str]:
    """What services say with a command in the sentence, with `x` for each value."""
    for path in sorted(ROOT.glob("services/*/src/**/*.py")):
        if "console" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        joined = [each for each in ast.walk(tree) if isinstance(each, ast.JoinedStr)]
        parts = {id(part) for each in joined for part in each.values}
        texts = [
            each
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in parts
        ]
        for each in [*joined, *texts]:
            pieces = each.values if isinstance(each, ast.JoinedStr) else [each]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in pieces)
            # Those that are a command alone go out in notifications, to people at a terminal.
            if "brandctl " in text and not text.startswith("brandctl "):
                yield text


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_services_say_names_a_page_in_the_place_of_a_command(language: str) -> None:
    texts = Texts(TextCatalogue(), language)
    found = list(sentences_with_commands())
    assert len(found) > 40
    assert [each for each in found if "brandctl" in name_pages(each, texts)] == []


def test_what_services_say_is_shown_with_pages() -> None:
    shown = re.compile(r"\{\{ ?[\w.]+\.(?:detail|newest_detail|problem)\b(?! \| pages)[^}]*\}\}")
    root = Path(str(files("console"))) / "templates"
    found = {
        f"{path.relative_to(root)}: {each[0]}"
        for path in sorted(root.rglob("*.j2"))
        for each in shown.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("none; GET /v1/dead-letters lists them", "none; the page “Dead letters” lists them"),
        ("`brandctl spend resume` lets it go on", "the page “Money” lets it go on"),
        ("see `/v1/of-tomorrow/{slug}/x?y=1`, then go", "see another page, then go"),
        ("`brandctl people-of-tomorrow` does it", "`brandctl people-of-tomorrow` does it"),
        ("brandctl people-of-tomorrow x, then go", "brandctl people-of-tomorrow x, then go"),
        (
            "correct it (brandctl drafts edit 17) or take it down",
            "correct it (the page “Drafts”) or take it down",
        ),
        (
            "brandctl submit acme 'grind size: a guide' --refresh, then wait",
            "the page “Keywords”, then wait",
        ),
        ("brandctl accounts list shows which are.", "the page “Accounts” shows which are."),
        ("x; brandctl content publish ID TARGET --overwrite", "x; the page “Articles”"),
    ],
)
def test_addresses_and_commands_become_pages(detail: str, shown: str) -> None:
    assert name_pages(detail, Texts(TextCatalogue(), "en")) == shown
    assert [each for each in PAGES.values() if not {f"{each}.nav", f"{each}.title"} & KEYS] == []
