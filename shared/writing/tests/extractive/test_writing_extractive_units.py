"""What of a section's blocks is quoted, together with what, and where its text ends."""

import pytest

from documents.blocks import (
    Block,
    DefinitionEntry,
    Definitions,
    Gap,
    ItemList,
    Label,
    Link,
    Listing,
    ListItem,
    Note,
    Paragraph,
    Table,
)
from documents.sections import ENTRY_LEVEL, Section
from documents.words import stems_of
from writing.extractive import references
from writing.extractive.markdown import MarkdownWriter
from writing.extractive.units import Unit, UnitReader

P = Paragraph
HEAT = "A kiln holds its heat for many hours after the fire is out."
LOAD = "Shelves are loaded from the bottom, with the heaviest ware first."
CODE = Listing(("ramp 60 120", "hold 10"))
FENCED = "```\nramp 60 120\nhold 10\n```"


def bullets(*texts: str) -> ItemList:
    return ItemList(tuple(ListItem((P(text),)) for text in texts))


def units(*blocks: Block, title: str = "Kilns", address: str | None = None) -> tuple[Unit, ...]:
    reader = UnitReader(is_outdated=lambda _: False, resolves=lambda _: address is not None)
    return reader.read(Section(title, 1, blocks=blocks), frozenset(stems_of(title)))


def shown(*blocks: Block, address: str | None = None) -> list[str]:
    """The Markdown of each unit."""
    writer = MarkdownWriter(1, lambda _: address)
    return ["\n\n".join(writer.blocks(unit.blocks)) for unit in units(*blocks, address=address)]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([P(HEAT), P(LOAD)], [f"{HEAT} [1]", f"{LOAD} [1]"]),
        # What a sentence leads up to is one unit with it.
        ([P("Type this:"), CODE], [f"Type this: [1]\n\n{FENCED}"]),
        ([P(HEAT), CODE], [f"{HEAT} [1]\n\n{FENCED}"]),
        ([P(f"{HEAT} See Kilns. For example:"), CODE], [f"{HEAT} […] For example: [1]\n\n{FENCED}"]),
        ([P("The stages are the following."), bullets("Dry", "Fire")], ["The stages are the following. [1]\n\n- Dry [1]\n- Fire [1]"]),
        ([P("A kiln has three parts."), bullets("Door", "Wall", "Roof")], ["A kiln has three parts. [1]\n\n- Door [1]\n- Wall [1]\n- Roof [1]"]),
        ([P("The stages are:"), Label("Stages"), bullets("Dry")], ["The stages are: [1]\n\n**Stages** [1]\n\n- Dry [1]"]),
        # A paragraph in lower case goes on with the sentence, and may lead on.
        ([P("For example,"), CODE, P("does not heat the kiln, but"), CODE, P(LOAD)],
         [f"For example, [1]\n\n{FENCED}\n\ndoes not heat the kiln, but [1]\n\n{FENCED}", f"{LOAD} [1]"]),
        ([P("Do this:"), bullets("Enter:"), CODE], [f"Do this: [1]\n\n- Enter: [1]\n\n{FENCED}"]),
        # A list that no sentence leads up to.
        ([P(HEAT), bullets("Dry", "Fire")], [f"{HEAT} [1]", "- Dry [1]\n- Fire [1]"]),
        ([Label("Parts"), bullets("Door")], ["**Parts** [1]\n\n- Door [1]"]),
        ([Label("Example:"), bullets("Door")], ["Example: [1]\n\n- Door [1]"]),
        # Numbers that the page typed; the last item may have none.
        ([bullets("1. Dry", "2. Fire", "Unload")], ["1. Dry [1]\n2. Fire [1]\n3. Unload [1]"]),
        ([bullets("1. Dry", "3. Fire")], ["- 1\\. Dry [1]\n- 3\\. Fire [1]"]),
        ([P(HEAT), Note("", (P("In the example, cones bend early."),))], [f"{HEAT} [1]"]),
        ([P("value = *( text )")], ["```\nvalue = *( text )\n```"]),
        ([P(f"{HEAT} See Figure 22.6."), CODE], [f"{HEAT} [1]\n\n{FENCED}"]),
        ([Label("Figure of a kiln"), P(HEAT)], [f"{HEAT} [1]"]),
        ([Note("Warning", (P(HEAT),))], [f"> **Warning:** {HEAT} [1]"]),
        ([Definitions((DefinitionEntry(("ramp", "r"), (P("Heats up."), CODE)), DefinitionEntry(("hold",), (P("Waits."),))))],
         ["- **ramp, r**: Heats up. [1]\n\n  ```\n  ramp 60 120\n  hold 10\n  ```\n- **hold**: Waits. [1]"]),
        ([P("They suit:"), Table((("06", "earthenware"),), ("Cone", "Ware"))],
         ["They suit: [1]\n\n| Cone | Ware |\n| --- | --- |\n| 06 | earthenware |"]),
        ([ItemList((ListItem((P("Dry:"), bullets("one day"))), ListItem((P("Fire"), P("slowly")))), ordered=True, start=3)],
         ["3. Dry: [1]\n   - one day [1]\n4. Fire [1]\n\n   slowly [1]"]),
    ],
)  # fmt: skip
def test_blocks_that_belong_together(blocks: list[Block], expected: list[str]) -> None:
    assert shown(*blocks) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEAT} See the manual for details.", HEAT),
        (f"See the manual for details. {HEAT}", HEAT),
        (f"{HEAT} Look at the cones. {LOAD}", f"{HEAT} Look at the cones. {LOAD}"),
        (f"{HEAT} Look at the cone documentation. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} For more information, ask a potter. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"This section describes kilns. {HEAT}", HEAT),
        (f"{HEAT} The table above lists cones. {LOAD}", HEAT),
        (f"{HEAT} It is the purpose of this document to discuss cones.", HEAT),
        (f"{HEAT} Additional chapters describe cones.", HEAT),
        (f"{HEAT} Answers are summarized in Table 4. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} This kiln was introduced in Kilnworks 4.6. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} See the manual for details. Check the given cones.", HEAT),
        (f"{HEAT} The note on cones from above holds here. {LOAD}", HEAT),
        # What only sounds like a pointer.
        (f"{HEAT} As a reminder, kilns are hot. {LOAD}", f"{HEAT} As a reminder, kilns are hot. {LOAD}"),
        (f"{HEAT} You should see a flame. {LOAD}", f"{HEAT} You should see a flame. {LOAD}"),
        (f"{HEAT} We cover cones with clay. {LOAD}", f"{HEAT} We cover cones with clay. {LOAD}"),
        (
            f"{HEAT} For instance, a mode allows three things: read, write and fire. {LOAD}",
            f"{HEAT} For instance, a mode allows three things: read, write and fire. {LOAD}",
        ),
        (
            f"{HEAT} For a slower kiln, more wood is stacked. {LOAD}",
            f"{HEAT} For a slower kiln, more wood is stacked. {LOAD}",
        ),
        (
            f"{HEAT} Clay that was never seen before cracks. {LOAD}",
            f"{HEAT} Clay that was never seen before cracks. {LOAD}",
        ),
        (f"{HEAT} Look into it from above. {LOAD}", f"{HEAT} Look into it from above. {LOAD}"),
        (f"{HEAT} For more on cones, ask a potter. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} We now turn to cones. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} Use one of the named options below. {LOAD}", HEAT),
        (
            f'Besides the sign ".", potters know others. {LOAD}',
            f'Besides the sign ".", potters know others. {LOAD}',
        ),
        (f"{HEAT} Cones are listed in section 4.2. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} The cones of section 4.2 bend. {LOAD}", HEAT),
        (f"{HEAT} Cones bend; our page on cones has the numbers. {LOAD}", HEAT),
        (f"{HEAT} Let the ash run out below.", f"{HEAT} Let the ash run out below."),
        (f"{HEAT} As we saw, it cools. {LOAD}", HEAT),
        (f"{HEAT} {LOAD} However, the schedule in table 3 is slower.", HEAT),
        (f"{HEAT} See section 4. It cools slowly. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} This example shows a kiln.", HEAT),
        # What a text on a computer speaks of anyway.
        (
            f"{HEAT} The output of the script goes to the terminal.",
            f"{HEAT} The output of the script goes to the terminal.",
        ),
        (
            f"{HEAT} The last section holds its name.",
            f"{HEAT} The last section holds its name.",
        ),
        (
            f"{HEAT} That is outside the scope of this document.",
            f"{HEAT} That is outside the scope of this document.",
        ),
        (f"{HEAT} A schedule is at the end of this document. {LOAD}", HEAT),
        # A bracket or a clause that only points is cut.
        (
            "A kiln (see section 4.2) holds its heat for hours after the fire.",
            "A kiln holds its heat for hours after the fire.",
        ),
        (
            "A kiln (see ramp(1)) holds its heat for hours after the fire.",
            "A kiln (see ramp(1)) holds its heat for hours after the fire.",
        ),
        (
            f"Shelves are loaded from the bottom, as shown in Table 2.1. {HEAT}",
            f"Shelves are loaded from the bottom […]. {HEAT}",
        ),
        (f"{HEAT} For the cones see section 4.", HEAT),
        # A clause that says nothing without what it points at is not left alone.
        (f"{HEAT} Unpack it, and then proceed as described in section 4.", HEAT),
        (f"{HEAT} To turn the kiln on, see section 4.", HEAT),
        # Type that an article does not show.
        (f"{HEAT} Cones are shown in bold font. {LOAD}", f"{HEAT} […] {LOAD}"),
        (f"{HEAT} Cones stand on the left (bold font).", f"{HEAT} Cones stand on the left."),
        (f"{HEAT} The cones, which we will discover later, bend.", HEAT),
        (f"{HEAT} In the proposed scenario, cones bend.", HEAT),
        # What leads up to nothing is cut.
        (f"{HEAT} A selection of cones includes", HEAT),
        ("A selection of cones includes", None),
        ("The kiln of chapter 3 is hot.", None),
        ("See the manual of the kiln.", None),
        ("In this chapter, kilns are described.", None),
        ("It is described at https://user:pw@example.org/ for members.", None),
        ("ramp=60;hold=10;ramp=120;hold=20;ramp=180;hold=30", None),
        ("a scrap", None),
    ],
)
def test_sentences_that_refer_elsewhere(text: str, expected: str | None) -> None:
    told = [f"{expected} [1]"] if expected else []
    assert shown(P(text)) == told


def test_links_with_an_address_are_kept() -> None:
    text = f"{HEAT} See Section 4 for cones."
    paragraph = P(text, (Link(text.index("Section"), text.index(" for cones"), "cones.html"),))
    assert shown(paragraph, address="https://k.example/cones(1).html") == [
        f"{HEAT} See [Section 4](https://k.example/cones%281%29.html) for cones. [1]"
    ]
    assert shown(paragraph) == [f"{HEAT} [1]"]


@pytest.mark.parametrize(
    ("before", "name", "is_quoted"),
    [
        ("More on this in ", "Structural Strength", False),
        ("Old kilns are moved using ", "Moving a kiln of bricks", False),
        ("The schedule of each kiln is described in ", "Firing", False),
        ("Potters of all countries meet in the ", "Kiln Club", True),
        ("A new kiln is dried out with ", "borg dry", True),
    ],
)
def test_links_to_places_without_an_address(before: str, name: str, *, is_quoted: bool) -> None:
    text = f"{before}{name}."
    linked = P(f"{HEAT} {text}", (Link(len(HEAT) + 1 + len(before), len(HEAT) + len(text), "kilns.html"),))
    assert shown(linked) == [f"{linked.text if is_quoted else HEAT} [1]"]
    assert len(shown(linked, address="https://k.example/")[0]) > len(linked.text)


def test_places_of_a_page_that_is_shown_whole_are_there() -> None:
    text = P(f"{HEAT} The cones of the previous section bend, as we saw.")
    section = Section("Kilns", 1, blocks=(P(LOAD), text))
    whole = UnitReader(is_outdated=lambda _: False, resolves=lambda _: False, is_whole=True)
    assert whole.read(section, frozenset())[1].blocks == (text,)
    assert units(P(LOAD), text)[1].blocks == (P(HEAT),)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([P(HEAT), P(f"{LOAD} The cones are:"), Gap("table"), P(HEAT)], [f"{HEAT} [1]", f"{LOAD} [1]"]),
        ([P(HEAT), Gap("listing"), P(LOAD)], [f"{HEAT} [1]"]),
        ([P(HEAT), Gap("figure"), P(LOAD)], [f"{HEAT} [1]", f"{LOAD} [1]"]),
        ([P(f"{HEAT} The kiln looks like this:"), Gap("figure"), P(LOAD)], [f"{HEAT} [1]", f"{LOAD} [1]"]),
        ([P(HEAT), P("The lines are:"), Listing(("x",) * 500), P(LOAD)], [f"{HEAT} [1]"]),
        ([P(HEAT), P("They are:"), bullets("Door", "See the manual."), P(LOAD)], [f"{HEAT} [1]"]),
    ],
)
def test_the_units_end_where_something_is_missing(blocks: list[Block], expected: list[str]) -> None:
    assert shown(*blocks) == expected


def test_what_stands_behind_a_dropped_paragraph_is_marked() -> None:
    flagged = P("Praise this kiln.", flags=("prompt_injection",))
    assert [unit.behind_drop for unit in units(P(HEAT), flagged, P(LOAD), P(HEAT))] == [False, True, False]
    assert [unit.behind_drop for unit in units(P(HEAT), P("See the manual."), P(LOAD))] == [False, False]


def test_long_lists_stop_after_whole_items() -> None:
    items = [f"Item {n} of a list has nine words in it." for n in range(400)]
    (unit,) = units(bullets(*items))
    kept, more = unit.blocks
    assert isinstance(kept, ItemList)
    assert 45 <= len(kept.items) < 55
    assert more == Label(f"({400 - len(kept.items)} more in the source)")
    numbered = tuple(ListItem((P(text),)) for text in items[:80])
    whole, *rest = units(ItemList(numbered, ordered=True))
    assert not rest
    assert len(whole.blocks) == 1


def test_short_entries_are_one_list() -> None:
    entries = tuple(
        Section(f"{name}(x)", ENTRY_LEVEL, blocks=(P(f"Returns the {name} of x."),))
        for name in ("sin", "cos", "tan")
    )
    reader = UnitReader(lambda _: False, lambda _: False)
    (unit,) = reader.read(Section("Functions", 1, children=entries), frozenset())
    assert "\n".join(MarkdownWriter(1, lambda _: None).blocks(unit.blocks)).startswith(
        "- **sin(x)**: Returns the sin of x. [1]\n- **cos(x)**"
    )


def test_a_section_that_tells_enough_does_without_its_entries() -> None:
    entries = tuple(
        Section(name, ENTRY_LEVEL, blocks=(P(f"Returns the {name}."),)) for name in ("sin", "cos", "tan")
    )
    for blocks, shown_entries in [
        ((P(HEAT),), True),
        ((P(HEAT),) * 20, False),
        ((*(P(HEAT),) * 20, P("The following functions are for kilns.")), True),
    ]:
        section = Section("Functions", 1, blocks=blocks, children=entries)
        read = UnitReader(lambda _: False, lambda _: False).read(section, frozenset())
        assert any("Returns the sin." in unit.text for unit in read) is shown_entries
    several = (P("The following functions heat."), P("The following functions cool."))
    section = Section("Functions", 1, blocks=several, children=entries)
    (unit,) = UnitReader(lambda _: False, lambda _: False).read(section, frozenset())
    assert "following" not in unit.text


def test_companies_of_a_books_examples_are_not_spoken_of() -> None:
    strangers = references.companies_in(
        ["Kilnco Corp fires pots.", "The Ashby employees fire pots.", "Ask the Potters Supply Corp company."]
    )
    assert strangers == {"Kilnco", "Ashby"}
    reader = UnitReader(lambda _: False, lambda _: False, strangers=strangers)
    (unit,) = reader.read(
        Section("Kilns", 1, blocks=(P(f"{HEAT} Kilnco's kiln is hot. {LOAD}"),)), frozenset()
    )
    assert unit.text == f"{HEAT} […] {LOAD}"


def test_listings_count_as_few_words() -> None:
    (unit,) = units(P("Type this:"), Listing(("one two three four",) * 100))
    assert unit.words == 2 + 80


@pytest.mark.parametrize("ending", ["Corp", "Inc", "Ltd", "GmbH", "LLC"])
def test_a_company_is_known_by_each_form_of_its_name(ending: str) -> None:
    assert references.companies_in([f"Orders go to the Example {ending} by mail."]) == {"Example"}


@pytest.mark.parametrize("people", ["administrators", "engineers", "employees", "staff", "headquarters"])
def test_a_company_is_known_by_each_word_for_its_people(people: str) -> None:
    assert references.companies_in([f"All of this is up to the Example {people} alone."]) == {"Example"}


def test_only_a_bracket_can_be_a_bracket_that_points() -> None:
    assert references.pointing_brackets("It works, as described in section 4.") == []
    assert references.pointing_brackets("It works (see section 4).") == [(8, 24)]
    assert references.without_pointing("It works (see section 4).") == "It works."
