"""A page that is wider than the keyword gives what it says about the keyword, and nothing else."""

from collections.abc import Sequence

import pytest

from documents.blocks import ItemList, ListItem, Paragraph
from documents.sections import PAGE_LEVEL, Section
from reading.collection import heads_of
from reading.ranking.aboutness import CollectionFacts, SpineCandidate, parse_keyword
from reading.ranking.narrow_topics import one_of_kinds, page_instead, passages_on, short_sections

FACTS = CollectionFacts(product_words=frozenset({"bik"}))
HUB = "Hub gears sit inside the wheel. " + "They need hardly any attention and shift at a standstill. " * 15
FILLER = "The chain runs from one sprocket to the next and complains about mud. " * 10


def section(title: str, *texts: str) -> Section:
    return Section(title, 2, blocks=tuple(map(Paragraph, texts)))


def page(title: str, introduction: str, *children: Section) -> Section:
    return Section(title, PAGE_LEVEL, blocks=(Paragraph(introduction),), children=children)


def titles(found: Section | None) -> list[str] | None:
    return None if found is None else [each.title for _, each in found.walk()]


def instead(keyword: str, whole: Section, own: str) -> Section | None:
    """Returns what the page says in the stead of its section of this title."""
    head, short = next(each for each in heads_of(whole, path="a.html") if each[1].title == own)
    (candidate,) = short_sections([SpineCandidate(head, short, about=1.0)])
    found = page_instead(candidate, whole, parse_keyword(keyword), FACTS)
    return found and found.section


GEARS = page(
    "Gears and shifting",
    FILLER,
    section("How to shift well", FILLER),
    section("Hub gears", HUB),
    section(
        "Servicing",
        "Hub gears want new oil every year. A workshop has it. You need not.",
        "A chain is cleaned.",
    ),
    section("Wheels", "Wheels come out. Tyres come off. Tubes are patched. Hub gears make that a nuisance."),
)


@pytest.mark.parametrize(
    ("keyword", "whole", "own", "shown"),
    [
        pytest.param(
            "hub gears", GEARS, "Hub gears", ["Gears and shifting", "Servicing"], id="what concerns it"
        ),
        pytest.param(
            "bike gears", GEARS, "Hub gears", titles(GEARS), id="the whole page if its title is the keyword"
        ),
        pytest.param(
            "limit screws",
            page("Gears", FILLER, section("Limit screws", "Two screws.")),
            "Limit screws",
            None,
        ),
        pytest.param(
            "burr grinder vs blade grinder",
            page(
                "Grinders: burrs, blades and settings",
                FILLER,
                section("Burr grinders and blade grinders", HUB),
            ),
            "Burr grinders and blade grinders",
            ["Grinders: burrs, blades and settings"],
            id="a section that is the keyword, and no more of its page",
        ),
    ],
)
def test_a_page_in_the_stead_of_its_section(
    keyword: str, whole: Section, own: str, shown: Sequence[str] | None
) -> None:
    assert titles(instead(keyword, whole, own)) == shown


def test_the_section_on_the_keyword_stands_first_and_paragraphs_bring_their_lists() -> None:
    steps = ItemList((ListItem((Paragraph("oil"),)),))
    other = Section("Care", 2, blocks=(Paragraph("Rims wear."), Paragraph("Hub gears need:"), steps))
    found = instead("hub gears", page("Gears", FILLER, other, section("Hub gears", HUB)), "Hub gears")
    assert found is not None
    assert found.blocks == (Paragraph(HUB),)
    assert found.children[0].blocks == (Paragraph("Hub gears need:"), steps)


@pytest.mark.parametrize(
    ("introduction", "opens"),
    [
        ("Hub gears and derailleurs are gears.", True),
        ("Gears ease hills. Hub gears are another kind.", False),
    ],
)
def test_an_introduction_opens_if_it_speaks_of_the_keyword_at_once(introduction: str, opens: bool) -> None:
    found = instead("hub gears", page("Gears", introduction, section("Hub gears", HUB)), "Hub gears")
    assert found is not None
    assert (found.blocks == (Paragraph(introduction),)) is opens


def test_a_section_that_is_the_lesser_part_of_what_its_page_says_stays_alone() -> None:
    aside = section("More", *["Hub gears and derailleurs are gears, and both need a chain. " * 8] * 3)
    whole = page("Gears", FILLER, section("Hub gears", "Hub gears sit inside the wheel."), aside)
    assert instead("hub gears", whole, "Hub gears") is None


BRAKES = page(
    "Brakes: rim and disc",
    "Every bike has two.",
    section("Which kind", "Rim brakes squeeze the rim.", "Disc brakes squeeze a disc."),
    section("Rim brake pads", "Look at the grooves in the rubber, and replace them when they are gone."),
    section("Squealing", "Oil on the disc is the usual culprit."),
)


@pytest.mark.parametrize(
    ("keyword", "whole", "shown"),
    [
        pytest.param("rim brakes", BRAKES, ["Brakes: rim and disc", "Rim brake pads"], id="one kind of two"),
        pytest.param("brakes", BRAKES, titles(BRAKES), id="all kinds"),
        pytest.param(
            "saddle height",
            page("Saddle height and position", FILLER, section("Tilt", FILLER)),
            ["Saddle height and position", "Tilt"],
            id="another thing and no other kind",
        ),
    ],
)
def test_a_page_on_several_kinds_is_read_for_one(keyword: str, whole: Section, shown: Sequence[str]) -> None:
    assert titles(one_of_kinds(parse_keyword(keyword), whole, FACTS)) == shown


def test_an_introduction_that_counts_more_than_is_taken_is_left_out() -> None:
    told = Paragraph("A seat for a child is bolted to the frame, and the child sits upright in it.")
    seats = Section("Child seats", 2, blocks=(told,))
    counting = Paragraph("There are three ways to carry a child: a seat, a trailer or a cargo bike.")
    page = Section("Taking children along", PAGE_LEVEL, blocks=(counting,), children=(seats,))
    assert passages_on(frozenset({"seat"}), page, seats).blocks == (told,)
