import json
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from social.counting import (
    grapheme_count,
    graphemes,
    mastodon_characters,
    threads_characters,
    utf16_units,
    x_weight,
)

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("coffee", 6),
        ("café", 4),
        ("cafe\u0301", 4),  # NFC makes one character of e and its accent
        ("コーヒー", 8),
        ("한국", 4),
        ("Кофе", 4),
        ("“quoted” – well…", 17),  # noqa: RUF001 - the dash is light, the ellipsis is not
        ("👾", 2),
        ("🙋🏽", 2),
        ("👨\u200d🎤", 2),
        (FAMILY, 2),
        ("🇩🇪", 2),
        ("1️⃣", 2),
        ("https://example.org/a/very/long/path/that/does/not/matter", 23),
        ("Read https://example.org today", 5 + 23 + 6),
        ("http://127.0.0.1:8012/sites/a", 29),  # no link to X, so its characters count
        ("http://localhost:8012/a", 23),
        ("coffee.But", 10 + 23),  # might be taken for a link
    ],
)
def test_x_weighs_characters_as_documented(text: str, weight: int) -> None:
    assert x_weight(text) == weight


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_x_weight_does_not_depend_on_the_normal_form(text: str) -> None:
    assert x_weight(text) == x_weight(normalize("NFD", text))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_every_way_of_counting_covers_what_a_reader_sees(text: str) -> None:
    seen = grapheme_count(text)
    assert "".join(graphemes(text)) == text
    assert utf16_units(text) >= seen
    assert threads_characters(text) >= seen
    assert mastodon_characters(text) >= seen or "://" in text


def test_mastodon_counts_graphemes_and_a_link_as_23() -> None:
    assert mastodon_characters(f"{FAMILY} https://example.org/{'x' * 100}") == 1 + 1 + 23


def test_threads_counts_the_bytes_of_emoji() -> None:
    assert threads_characters("tea ☕️") == 4 + len("☕️".encode())


def test_graphemes_are_no_code_points() -> None:
    assert grapheme_count(json.loads('"\\u0e19\\u0e49\\u0e33"')) < 3  # Thai: marks belong to their letter
