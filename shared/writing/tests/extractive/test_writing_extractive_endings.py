"""Where a text ends that is cut, and where an article does."""

import pytest

from documents.blocks import Block, ItemList, Listing, ListItem, Note, Paragraph
from writing.extractive.endings import cut_units, ended, has_promise, without_promises
from writing.extractive.references import is_dependent, is_pointer, is_positional
from writing.extractive.units import TOP_LEVEL, Part, Unit

P = Paragraph
HEAT = P("A kiln holds its heat for many hours after the fire is out.")
LOAD = P("Shelves are loaded from the bottom, with the heaviest ware first.")
WAYS = P("There are two ways to load a kiln.")
CODE = Listing(("ramp 60 120",))
PARTS = ItemList((ListItem((P("Door"),)), ListItem((P("Wall"),))))


def units(*groups: Block | tuple[Block, ...]) -> tuple[Unit, ...]:
    return tuple(Unit(each if isinstance(each, tuple) else (each,)) for each in groups)


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        (HEAT, (HEAT,)),
        ((P("It has these parts:"), PARTS), (P("It has these parts:"), PARTS)),
        ((HEAT, CODE), (HEAT, CODE)),
        (Note("Warning", (LOAD,)), (Note("Warning", (LOAD,)),)),
        # A box on something else, the beginning of what comes next, a pointer, a bare value.
        ((HEAT, Note("CULTURE Celadon", (LOAD,))), (HEAT,)),
        (Note("Tip", (LOAD,)), ()),
        (P(f"{HEAT.text} Now the glaze must be chosen."), (HEAT,)),
        (P(f"{HEAT.text} The details are listed in Chapter 14: “Glazes”."), (HEAT,)),
        (P(f"{HEAT.text} But is it hot?"), (HEAT,)),
        (P(f"{HEAT.text} Select a cone and click on Forward."), (HEAT,)),
        (P(f"{HEAT.text} The text below provides only a summary."), (HEAT,)),
        (P(f"{HEAT.text} They are controlled by the following parameters."), (HEAT,)),
        (P("default: ['wood'] (the \"wood\" kiln)."), ()),
        (P("This will result in the following kiln:"), ()),
        # A clause of it is left out.
        (P(f"{HEAT.text} Raku is fired in pits […]."), (HEAT,)),
        # A count that nothing follows.
        (WAYS, ()),
        (P("The kiln comes with a couple of ready to use cones."), ()),
        (P("Kilns are fired to various degrees."), (P("Kilns are fired to various degrees."),)),
    ],
)
def test_the_end_of_an_article(last: Block | tuple[Block, ...], kept: tuple[Block, ...]) -> None:
    parts = [Part(None, units(HEAT, LOAD)), Part("Firing", units(LOAD, last))]
    assert ended(parts, least=5)[-1] == Part("Firing", units(LOAD, *([kept] if kept else [])))


def test_a_sentence_left_of_a_last_part_is_not_worth_its_heading() -> None:
    parts = [
        Part(None, units(HEAT, LOAD)),
        Part("Firing", units(P(f"{LOAD.text} See the manual of the kiln."))),
    ]
    assert ended(parts, least=5) == parts[:1]


def test_an_article_does_not_end_in_a_heading_and_keeps_its_least_words() -> None:
    parts = [Part(None, units(HEAT)), Part("Firing", units(Note("Tip", (LOAD,)))), Part("Gas", ())]
    assert ended(parts, least=5) == parts[:1]
    assert ended(parts, least=15) == parts[:2]


@pytest.mark.parametrize(
    ("heading", "is_kept"), [("Firing", False), ("Examples", True), ("Usage example", True)]
)
def test_no_article_ends_on_a_listing_that_nothing_announces(heading: str, *, is_kept: bool) -> None:
    parts = [Part(None, units(HEAT, LOAD)), Part(heading, (Unit((CODE,), is_bare=True),))]
    assert ended(parts, least=5) == (parts if is_kept else parts[:1])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((HEAT, LOAD, LOAD), (HEAT, LOAD)),
        ((HEAT, WAYS, LOAD), (HEAT,)),
        ((HEAT, (LOAD, CODE), HEAT), (HEAT, LOAD)),
        ((HEAT, (P("Type this:"), CODE), LOAD), (HEAT,)),
        # Nothing that could end: rather all of it.
        ((WAYS, LOAD, LOAD), (WAYS,)),
    ],
)
def test_a_text_that_is_cut(given: tuple[Block, ...], kept: tuple[Block, ...]) -> None:
    room = sum(unit.words for unit in units(*given)[:-1])
    assert cut_units(units(*given), room if len(kept) > 1 or given[1] is not LOAD else 8) == units(*kept)
    assert cut_units(units(*given), 500) == units(*given)


def test_what_is_announced_is_there() -> None:
    lead = P(f"{HEAT.text} The cones are the following.")
    behind_drop = Unit((LOAD,), behind_drop=True)
    below = Part("Cones", units(LOAD), TOP_LEVEL + 1)
    for parts, shown in [
        ([Part("Firing", units(lead))], [Part("Firing", units(HEAT))]),
        ([Part("Firing", units(lead)), below], [Part("Firing", units(lead)), below]),
        ([Part("Firing", (*units(WAYS), behind_drop))], [Part("Firing", (*units(WAYS), behind_drop))]),
        ([Part("Firing", (*units(HEAT, WAYS), behind_drop))], [Part("Firing", (*units(HEAT), behind_drop))]),
        ([Part("Firing", units(HEAT, P("It looks like this:"), LOAD))], [Part("Firing", units(HEAT, LOAD))]),
        ([Part("Firing", ()), Part("Gas", units(HEAT))], [Part("Gas", units(HEAT))]),
    ]:
        assert without_promises(parts) == shown
    assert has_promise(units(HEAT, P(f"{WAYS.text} {LOAD.text}")))
    assert not has_promise(units(HEAT, (P("It has two parts:"), PARTS)))


def test_a_heading_names_what_it_is() -> None:
    assert not is_dependent("When it is dark, open the door.", frozenset({"is", "it", "ready"}))
    assert is_dependent("When it is dark, open the door.", frozenset({"kiln"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is possible to fire twice.", False),
        ("It is usually best to fire at night.", False),
        ("It was common for potters to fire at night.", False),
        ("It is hot.", True),
        ("It is a good kiln for pots.", True),
        ("With a kiln of stone, this was no problem.", True),
        ("With a kiln of stone, potters had no problem.", False),
        ("This kind of firing takes a night.", False),
        ("This firing takes a night.", True),
    ],
)
def test_a_sentence_that_means_one_before_it_is_dependent(text: str, expected: bool) -> None:
    assert is_dependent(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("With cone 6 and below, the glaze stays soft.", False),
        ("Kilns of 900 or above need a chimney.", False),
        ("The glazes are listed below.", True),
        ("For this, use the tongs above.", True),
    ],
)
def test_a_number_and_below_is_no_place(text: str, expected: bool) -> None:
    assert is_positional(text, has_above=False, has_below=False) is expected


def test_a_note_that_only_points_is_a_pointer() -> None:
    assert is_pointer("Note: please see the manual for all glazes.")
    assert not is_pointer("Note: glazes run.")
