"""The digest's title, its description, and the sentence that opens it."""

import pytest

from documents.blocks import (
    Listing,
)
from documents.sections import Section
from tests.fixtures.digests import GAS, KILN, REST, WOOD, P, digest, headings, page
from writing.extractive.descriptions import description


@pytest.mark.parametrize(
    ("keyword", "title", "shown"),
    [
        ("kiln", "2.1. Kilns", "Kilns"),
        ("kiln", "Kiln(8)", "Kiln"),
        ("fired kiln", "The kiln, fired", "Fired kiln"),
        ("wal_level", "wal_level", "wal_level"),
        ("kiln firing", "KILN FIRING", "Kiln firing"),
    ],
)
def test_titles(keyword: str, title: str, shown: str) -> None:
    assert digest(page(P(KILN), title=title), keyword=keyword).title == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{KILN} It cools.", f"{KILN} It cools."),
        (
            f"{KILN[:-1]}, which potters have known for so long that nobody can tell who was the first of them all.",
            f"{KILN[:-1]}…",
        ),
    ],
)
def test_descriptions_are_whole_sentences_or_end_at_a_clause(text: str, shown: str) -> None:
    assert digest(page(P(text))).meta_description == shown


def test_a_description_is_a_definition_where_the_first_sentence_is_too_long() -> None:
    first = (
        "A kiln of the older kind, " + "which takes days to fire and days to cool " * 4 + "is built of brick."
    )
    second = "A kiln is a chamber that holds its heat for hours, since its door is sealed with clay."
    article = digest(page(P(f"{first} {second}"), P(GAS)))
    assert article.meta_description == second


def test_a_page_of_a_manual_opens_with_what_its_name_is() -> None:
    manual = page(
        title="Kilnworks manual - kilnctl(1)",
        children=(
            Section("NAME", 2, "name", (P("kilnctl - Kilnworks control program"),)),
            Section(
                "DESCRIPTION",
                2,
                "text",
                (
                    P("This command is reserved for the master. The kilnctl(1) command starts a firing."),
                    P(REST),
                ),
            ),
        ),
    )
    article = digest(manual, keyword="kilnctl")
    assert article.title == "kilnctl (Kilnworks)"
    assert article.body_markdown.startswith("**kilnctl** – Kilnworks control program [1]\n\nThis command")  # noqa: RUF001
    assert article.meta_description == "Kilnworks control program"


def test_what_only_explains_its_heading_opens_behind_it() -> None:
    article = digest(page(P("A guide to choosing a kiln."), P(KILN), P(GAS)))
    assert article.body_markdown.startswith("**Kiln** – A guide to choosing a kiln. [1]")  # noqa: RUF001
    assert article.meta_description.startswith(KILN)


def test_what_explains_a_name_is_its_description_where_no_sentence_says_more() -> None:
    more = "Of two cones, the second one is the limit of the kiln_limit at night, as potters know."
    parts = (P("Set the limit of heat."), Listing(("kiln_limit",)), P(more), P(GAS))
    article = digest(page(*parts, title="kiln_limit"), keyword="kiln_limit")
    assert article.meta_description == "Set the limit of heat."


def test_a_description_may_speak_of_the_keyword_as_the_thing_that_readers_know() -> None:
    told = "The night kiln is stoked by a crew of four, and it holds the ware of a whole village."
    article = digest(page(P(told), P(GAS), title="The kiln"))
    assert article.meta_description == told


def test_a_line_under_the_title_is_no_description() -> None:
    article = digest(page(P("How to choose a kiln for the pots of a beginner.")))
    assert article.body_markdown.startswith("**Kiln** – How to choose a kiln")  # noqa: RUF001
    assert headings(article)[0] == "Wood kilns"
    assert article.meta_description == WOOD.partition(". ")[0] + "."


def test_a_paragraph_that_says_what_the_keyword_is_goes_before_a_warning() -> None:
    article = digest(
        page(P("Never leave it hot: beware of burns at the chimney of a kiln."), P(KILN), P(GAS))
    )
    assert article.body_markdown.startswith(KILN)


def test_a_short_explanation_stays_in_front_of_a_warning() -> None:
    article = digest(
        page(
            P("Fire the clay of a pot."),
            P("A kiln is dangerous while it is hot, so stay away from it."),
            P(GAS),
        )
    )
    assert article.body_markdown.startswith("**Kiln** – Fire the clay of a pot. [1]")  # noqa: RUF001


def test_an_opening_that_needs_what_went_before_moves_down() -> None:
    article = digest(
        page(P("The potter then needs to open the damper of the kiln with both hands."), P(KILN), P(GAS))
    )
    assert article.body_markdown.startswith(KILN)
    assert article.meta_description.startswith(KILN)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("Kilns burn gas. For example:", "Kilns burn gas. For example…"),
        (
            "When a potter fires a kiln of the older kind, the chamber is closed with bricks that hold the heat of the fire in it for days and nights until the clay has become hard.",
            "When a potter fires a kiln of the older kind, the chamber is closed with bricks that hold the heat of the fire in it for days and nights…",
        ),
        (
            "Kilns of brick are heated with wood in many a country; the firing takes days, and a crew that knows the kiln must feed it through two or three nights in turns.",
            "Kilns of brick are heated with wood in many a country; the firing takes days…",
        ),
        (
            "The settings KILN_HEAT, KILN_HOURS, and KILN_CLAY provide control over how the kilns of brick of a large pottery with many potters are heated and loaded with its ware.",
            "The settings KILN_HEAT, KILN_HOURS, and KILN_CLAY provide control over how the kilns of brick of a large pottery with many potters are heated…",
        ),
        (
            "Kilns of brick are heated with wood in many of the countries of the south; each of the potters (most often those of a family) has a kiln of his own there, and all of them fire it.",
            "Kilns of brick are heated with wood in many of the countries of the south…",
        ),
        (
            "Kilns of brick are heated with wood in many countries. […] Their makers live far away.",
            "Kilns of brick are heated with wood in many countries.",
        ),
    ],
)
def test_a_description_ends_where_a_clause_is_complete(first: str, expected: str) -> None:
    assert description([P(first)]) == expected
