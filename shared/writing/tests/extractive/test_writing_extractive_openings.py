"""What opens an article and what of a paragraph is quoted, on the ways in which manuals put it."""

from dataclasses import replace

import pytest

from tests.fixtures.kilns import FURNITURE, HEAT, KILN, POWER, SOURCES, TODAY
from writing import InsufficientSourcesError
from writing.article import Article, ArticleSource, SourcePassage
from writing.extractive.composer import compose
from writing.extractive.headings import tidy, title_of
from writing.extractive.topic import DEFINES, Topic

UNDEFINED = (replace(KILN, passages=KILN.passages[1:]), *SOURCES[1:])
"""Enough on kilns for an article, but for an opening."""


def article(*sources: ArticleSource, keyword: str = "kiln") -> Article:
    return compose(keyword=keyword, sources=sources, language="en", today=TODAY, min_sources=3)


def opening(text: str, *, title: str = "Kilns", heading: str | None = None, keyword: str = "kiln") -> str:
    """The first paragraph where one more source says this."""
    source = ArticleSource(9, title, (SourcePassage(heading, text, 3.0),))
    return article(*UNDEFINED, source, keyword=keyword).body_markdown.split("\n\n")[0]


def among(text: str, heading: str | None = None) -> str:
    trap = ArticleSource(9, "Kilns", (SourcePassage(heading, text, 9.0),))
    return article(*SOURCES, trap).body_markdown


def test_without_an_opening_there_is_no_article() -> None:
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        article(*UNDEFINED)


@pytest.mark.parametrize(
    "text",
    [
        "The term kiln refers to any closed chamber that is heated until clay turns hard.",
        "A kiln, or more exactly a pottery kiln, is a chamber that is heated until clay turns hard.",
        "Kilns are essentially the ovens of potters, and hotter by far than what bakers have.",
        "Most potteries fire their ware in a kiln, in which the heat rises slowly for half a day.",
        "Use the kiln when clay has to become hard and no longer dissolves in any water.",
        "The purpose of a kiln is to heat clay slowly and evenly until it hardens for good.",
        "A kiln heats the ware that is stacked in it until all of the clay has hardened.",
    ],
)
def test_an_opening_may_be_put_in_many_ways(text: str) -> None:
    assert opening(text) == f"{text} [9]"


@pytest.mark.parametrize(
    "text",
    [
        "Kiln operations are the work of two people who take turns at it for three days.",
        "A kiln system is a set of pipes that leads the smoke of the fire to the chimney.",
        "The named kiln is an empty one, if no other has been lit by anybody so far.",
        "Potters who built their own kilns which failed are an example of what may go wrong.",
        "Unless the door is shut, the fan of the kiln can also be heard outside of the shed.",
        "The kiln is cold when nobody has lit a fire in it since the day before.",
        "kiln() is a function that opens the door, and returns the number of that door.",
    ],
)
def test_what_says_something_else_opens_nothing(text: str) -> None:
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        opening(text, title="Potteries")


@pytest.mark.parametrize("noun", ["operation", "system", "type", "method", "process", "object", "format"])
def test_a_longer_noun_is_not_the_keyword(noun: str) -> None:
    topic = Topic("kiln", SOURCES)
    assert topic.definition(f"A kiln {noun} is a thing that is told apart from kilns.") < DEFINES
    # These only say what sort of thing the keyword is.
    assert topic.definition("A kiln file is a text that lists the temperatures of a firing.") >= DEFINES
    assert topic.definition("The kiln command is a program that lights the fire.") >= DEFINES


def test_the_name_line_of_a_manual_page_opens_the_article_with_the_name() -> None:
    page = ArticleSource(
        9,
        "pot-kiln(1)",
        (
            SourcePassage("NAME", "pot-kiln - Heat clay until it has turned hard", 1.0),
            SourcePassage(
                "DESCRIPTION",
                "Whoever starts a kiln by this command finds its heat in the log of the day.",
                2.0,
            ),
        ),
    )
    body = article(*UNDEFINED, page).body_markdown
    assert body.startswith("**pot-kiln:** Heat clay until it has turned hard [9]\n\n")


@pytest.mark.parametrize("name", ["list-all-kilns", "ALTER KILN", "oven"])
def test_the_name_line_of_something_else_does_not(name: str) -> None:
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        opening(f"{name} - Show each of them with its heat", title=f"{name}(1)", heading="NAME")


def test_a_sentence_in_the_paper_is_better_than_a_name_line() -> None:
    page = ArticleSource(
        9, "kiln(1)", (SourcePassage("NAME", "kiln - Heat clay until it has turned hard", 9.0),)
    )
    assert article(*SOURCES, page).body_markdown.startswith("A kiln is an insulated chamber")


def test_the_first_paragraph_of_the_page_opens_it_if_it_is_about_the_keyword() -> None:
    about = "The standard of the guild knows four kinds of kiln. Three of them burn wood, and one burns gas."
    assert opening(about) == f"{about} [9]"
    beside = "Whoever has clay on the hands should wash them before any switch of the kiln is touched at all."
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        opening(beside)


def test_an_attribute_of_the_keywords_name_is_no_entry_of_a_glossary() -> None:
    attribute = SourcePassage(
        "kiln", "A number that tells which one of them is to be used for the next firing.", 3.0
    )
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        article(*UNDEFINED, ArticleSource(9, "class Firing", (attribute,)))
    setting = SourcePassage(
        "KILNS", "A list of those that the program knows by their names and their places.", 3.0
    )
    with pytest.raises(InsufficientSourcesError, match="says what “kiln” is"):
        article(*UNDEFINED, ArticleSource(9, "Glossary of settings", (setting,)))


SENTENCE = (
    "Gas kilns burn propane or natural gas, and a damper decides how much air the flame of the kiln gets."
)
MORE = "A kiln that burns gas is fired outside of the house."


@pytest.mark.parametrize(
    "away",
    [
        "As Section 4.2 tells, some of them burn oil.",
        "See the manual page of the burner for details.",
        "Changed in version 3.7: kilns may burn oil as well.",
        "A kiln of type Z burns more than a kiln of type D does.",
    ],
)
def test_a_paragraph_is_quoted_up_to_what_sends_the_reader_elsewhere(away: str) -> None:
    assert f"{SENTENCE} {MORE} [9]" in among(f"{SENTENCE} {MORE} {away} The rest is left out with it.")
    assert f"{SENTENCE} {MORE} [9]" in among(f"{away} {SENTENCE} {MORE}")


def test_what_bounds_a_sentence_is_not_cut_off() -> None:
    assert SENTENCE not in among(
        f"{SENTENCE} However, this does not hold for those of Section 4.2, as shown there."
    )


def test_what_takes_up_the_end_of_a_paragraph_does_not_follow_its_beginning() -> None:
    body = among(
        f"{SENTENCE} As Section 4.2 tells, some burn oil.\n\nThis is why the shed of a kiln often smells of oil."
    )
    assert f"{SENTENCE} [9]" in body
    assert "smells of oil" not in body


def test_the_text_before_a_list_that_cannot_be_quoted_is_kept_without_what_leads_up_to_it() -> None:
    items = "•\tIt is described in Section 4.2 of the book.\n•\tIt is described in Section 4.3 of the book."
    assert f"{SENTENCE} [9]" in among(f"{SENTENCE} These are the parts of a kiln:\n\n{items}")


def test_what_stands_under_the_name_of_a_setting_is_left_out() -> None:
    told = SourcePassage(
        "SHELVES", "Kiln shelves are counted when the program starts, and once more when it ends.", 9.0
    )
    page = ArticleSource(9, "Kiln programs", (SourcePassage("Starting a program", SENTENCE, 9.0), told))
    assert "counted when" not in article(*SOURCES, page).body_markdown
    manual = replace(page, title="kilnd(8)")
    assert "counted when" in article(*SOURCES, manual).body_markdown


@pytest.mark.parametrize(
    ("heading", "written"),
    [
        ("DROP MATERIALIZED VIEW", "Drop materialized view"),
        ("SKIP-WORKTREE BIT", "Skip-worktree bit"),
        ("USING JSON OVER HTTP", "Using JSON over HTTP"),
        ("per-worktree ref", "Per-worktree ref"),
        (
            "htdigest - manage user files for digest authentication",
            "Manage user files for digest authentication",
        ),
        ("asyncio", "asyncio"),
    ],
)
def test_headings_are_written_as_people_write_them(heading: str, written: str) -> None:
    assert tidy(heading) == written


def test_a_title_names_what_the_article_says_of_its_subject() -> None:
    def title(*headings: str) -> str:
        return title_of("Hooks", headings, proper=frozenset(), language="en")

    assert title("Exit codes", "Shared folders") == "Hooks: exit codes and shared folders"
    for heading in (
        "Git User Manual",
        "Update hook",
        "On re-tagging",
        "Output",
        "Hooking up",
        "jsonpath type",
        "How to merge",
    ):
        assert title(heading) == "Hooks", heading


def test_a_section_is_not_headed_by_the_name_of_a_book() -> None:
    long = " ".join([*(each.text for each in FURNITURE.passages), *(each.text for each in POWER.passages)])
    book = ArticleSource(
        9,
        "Kiln User Manual",
        (SourcePassage(None, long.replace("kiln", "gas kiln").replace("Shelves", "Slabs"), 9.0),),
    )
    assert "User Manual" not in article(KILN, HEAT, SOURCES[3], book).body_markdown
