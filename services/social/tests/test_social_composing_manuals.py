"""Posts about pages of manuals: which of their sentences say something to readers of feeds."""

from typing import Any

import pytest

from envelope.brand.payloads import QuotedSource, SocialCreate
from social.composing import NothingToSayError
from social.domain import plan, story_of
from social.technical import has_code, is_about_programs
from tests.fixtures.promoted_coffee import LINK, command, draft, quoting


def of_manual(opening: str, *points: str, **more: Any) -> SocialCreate:
    """About an article that quotes the manual of a program, Brewer."""
    given: dict[str, Any] = {
        "title": "How timers of Brewer work",
        "keyword": "timers of brewer",
        "description": opening,
        "opening": opening,
        "points": points,
        "headings": ("Setting timers", "Logs", "Timers in the command line", "brewer.start()"),
        "sources": (QuotedSource(title="Brewer manual: Timers"),),
        "origins": (1,) * (1 + len(points)),
    }
    return command(**(given | more))


LETS = "Brewer lets you stop timers without losing a single cup."


@pytest.mark.parametrize(
    ("sentence", "opens"),
    [
        (LETS, True),
        ("Timers of Brewer are never late, not even in a power cut.", True),
        ("Brewer is a program for timers that remind you of the kettle.", True),
        ("Brewer has timers of several kinds in its memory.", False),
        ("Timers can be stopped without losing a single cup.", False),
        ("Provides access to timers without losing a single cup.", False),
        ("Brewer can stop timers whose callback returns no value.", False),
        ("By default, Brewer never stops timers that are running.", False),
        ("Brewer never stops timers before brewer.start() was called.", False),
        ("Brewer never stops timers in earlier versions.", False),
        ("Timers of Brewer can be set with the button or the key.", False),
        ("Timers of Brewer can be used to boil a kettle.", True),
        ("The largest part of Brewer is a wall where timers are designed.", False),
        ("Typical timers take 107 bytes on Linux and 103 on a kettle, but never more.", False),
    ],
)
def test_of_a_manual_a_sentence_that_names_the_program_and_says_why_it_matters_opens_a_post(
    sentence: str, opens: bool
) -> None:
    known = "The software reads timers that Brewer wrote."
    asked = of_manual("Timers of Brewer are written to a file.", known, sentence)
    if not opens:
        with pytest.raises(NothingToSayError):
            draft("x", asked)
        planned = plan(asked)
        assert planned.post is not None
        assert planned.post.text == "How timers of Brewer work", "the feed lists it"
        return
    assert draft("x", asked).text == f"“{sentence}”\n— Brewer manual: Timers\n\n{LINK}"


def test_the_opening_of_a_manual_names_the_subject_too() -> None:
    other = "Kettler never loses a drop of water, not even at night."
    asked = of_manual(other, "The software reads what Kettler wrote.")
    assert "Kettler" in story_of(asked).proper_names
    assert story_of(asked).hooks == ()
    assert story_of(
        of_manual(f"{other[:-1]} or with timers.", "The software reads what Kettler wrote.")
    ).hooks


def test_a_post_about_a_manual_has_one_sentence_and_headings_of_more_words() -> None:
    second = "Brewer never stops timers without a reason."
    asked = of_manual(LETS, second, "The software has timers.")
    assert draft("telegram", asked).text == (
        f"How timers of Brewer work\n\n“{second}”\n— Brewer manual: Timers\n\n"
        f"In the article: Setting timers · Timers in the command line\n\nRead the article: {LINK}"
    )
    own = "Your own words stand behind it."
    edited = of_manual(LETS, own, origins=(1, 0))
    assert own in draft("telegram", edited).text, "an edited key point is nobody's detail"


def test_a_sentence_of_a_manual_keeps_the_next_one_if_readers_understand_it() -> None:
    plain, with_code = "Instead it waits for you.", "Instead it calls brewer.start() again."
    more = "The software has timers of Brewer."
    assert f"“{LETS} {plain}”" in draft("x", of_manual(f"{LETS} {plain}", more)).text
    assert f"“{LETS}”" in draft("x", of_manual(f"{LETS} {with_code}", more)).text


def test_the_frequent_questions_of_a_manual_are_told_without_what_stands_between_them() -> None:
    headings = ("Which timers are there?", "Setting timers", "Why is the software late?")
    text = draft("x", of_manual("It has a callback.", headings=headings)).text
    assert text == f"How timers of Brewer work\n\nIn the article: {headings[0]} · {headings[2]}\n\n{LINK}"


def test_why_a_manual_has_no_post_is_told() -> None:
    silent = story_of(of_manual("It has a callback."))
    assert silent.why_silent.startswith("no sentence of this manual names its subject")
    named = story_of(of_manual(LETS, title="brewer.start()"))
    assert named.hooks == ()
    assert named.why_silent.startswith("the title is a name inside a program")
    assert story_of(quoting()).why_silent == "no sentence of the article stands alone"


def test_the_title_of_a_part_of_a_program_is_no_hashtag_but_its_name_is() -> None:
    texts = (LETS, "With Brewer, the software is never late.")
    assert story_of(of_manual(*texts, keyword="Timers")).tags == ()
    assert story_of(of_manual(*texts, keyword="Brewer")).tags == ("#Brewer",)
    assert story_of(command(keyword="brewer.start()")).tags == ()


@pytest.mark.parametrize(
    "text",
    [
        "A cup costs $3 and is ready at 10:30 -- or later.",
        "Ask for ten percent (10%) if a baker's dozen isn't enough.",
        "It drains into a cup or server; dogs aren't welcome.",
    ],
)
def test_prices_and_times_make_no_manual(text: str) -> None:
    assert not is_about_programs([text])


def test_a_word_in_quotation_marks_or_one_of_programs_makes_no_manual_but_two_do() -> None:
    assert not is_about_programs(["The 'crumb' is open."])
    assert not is_about_programs(["We take orders by software."])
    assert is_about_programs(["It reads files.", "It writes variables."])
    assert is_about_programs(["Parameters stand in a dialog."])
    assert is_about_programs([], ["convhulln (Convex hull)"])


@pytest.mark.parametrize(
    "text",
    [
        "Timers came with 1.4.0 in July.",
        "Leaving 0.x behind took five years.",
        "Choose Tools → Timers for another one.",
        "It waits for an IPv6 address.",
        "Choose a kettle in the drop-down.",
        "All recipes are in the repo.",
    ],
)
def test_a_version_or_the_way_through_a_menu_makes_a_manual(text: str) -> None:
    assert is_about_programs([text])
    assert not is_about_programs(["It costs 1.40 on 2.12.2025, from 8.30 to 12.00, at 1.5 bar."])


def test_coordinates_tell_readers_of_feeds_nothing() -> None:
    assert has_code("The first pin is at (0, 4.7 mm).")
    assert not has_code("The first three (12 and more) are free.")


def test_the_rules_about_manuals_are_for_english() -> None:
    german = "Brewer hält eine Datei für jeden Timer und verliert nie einen."
    assert draft("x", of_manual(german, "Das API ist klein.", language="de")).text.startswith(f"„{german}“")
