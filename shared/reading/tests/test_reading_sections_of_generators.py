"""Pages that the well-known generators of documentation make, as trees of sections."""

import pytest

from documents.blocks import (
    DefinitionEntry,
    Definitions,
    ItemList,
    Label,
    Listing,
    ListItem,
    Note,
)
from documents.sections import ENTRY_LEVEL, Section
from tests.fixtures.kiln_pages import (
    COOL,
    DOCBOOK,
    DOXYGEN,
    HEAT,
    KEYWORDS,
    MAKEINFO,
    MAN,
    MKDOCS,
    SPHINX,
    items,
    p,
    tree,
)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            SPHINX,
            Section(
                "Kilns",
                0,
                "kilns",
                (p(HEAT),),
                (
                    Section(
                        "Heat",
                        2,
                        "heat",
                        (),
                        (
                            Section(
                                "Kiln",
                                ENTRY_LEVEL,
                                "kiln.Kiln",
                                (Listing(("class Kiln(heat)",)), p(COOL)),
                                (Section("on", ENTRY_LEVEL, "kiln.Kiln.on", (Listing(("on()",)), p(HEAT))),),
                            ),
                        ),
                    ),
                ),
                (),
                ("index-0",),
            ),
        ),
        (
            DOCBOOK,
            Section(
                "Kilns",
                0,
                "ch",
                (),
                (
                    Section(
                        "Heat",
                        2,
                        "heat",
                        (
                            p(HEAT),
                            Note("CULTURE Old kilns", (p(COOL),)),
                            Label("A kiln"),
                            Listing(("kiln",)),
                        ),
                    ),
                ),
            ),
        ),
        (
            MAKEINFO,
            Section(
                "Kilns",
                0,
                "Kilns",
                (p(HEAT),),
                (
                    Section(
                        "kiln_on",
                        ENTRY_LEVEL,
                        "index-on",
                        (Listing(("kiln_on (h)", "kiln_on ()")), p(COOL)),
                        (),
                        (),
                        ("index-on-1",),
                    ),
                ),
                (),
                ("index-kiln",),
            ),
        ),
        (
            MKDOCS,
            Section(
                "Kilns",
                0,
                "kilns",
                (p(HEAT),),
                (Section("Heat", 2, "heat", (Note("Tip", (p(COOL),)), Listing(("kiln",)))),),
            ),
        ),
        (
            MAN,
            Section(
                "Kilns",
                0,
                "",
                (),
                (
                    Section("NAME", 2, "", (p("kiln - heats pots"),)),
                    Section(
                        "DESCRIPTION",
                        2,
                        "",
                        (
                            p(
                                "The kiln heats pots of all kinds until they are hard enough for temperatures of a kitchen,"
                                " and cools them down again over the night."
                            ),
                            Definitions(
                                (
                                    DefinitionEntry(
                                        ("-h",),
                                        (p("Heats it up now, and tells the time that it will take."),),
                                    ),
                                    DefinitionEntry(("--cool",), (p("Cools it down."),)),
                                )
                            ),
                            ItemList(
                                (
                                    *items("one thing"),
                                    ListItem((p("another thing"), Listing(("kiln -h; kiln --cool",)))),
                                )
                            ),
                        ),
                    ),
                ),
            ),
        ),
        (
            KEYWORDS,
            Section(
                "Kilns",
                0,
                "",
                (),
                (
                    Section(
                        "Settings",
                        2,
                        "",
                        (p(HEAT),),
                        (
                            Section("heat", ENTRY_LEVEL, "heat", (Listing(("heat <degrees>",)), p(COOL))),
                            Section("cool", ENTRY_LEVEL, "", (p(HEAT),)),
                            Section(
                                "lid",
                                ENTRY_LEVEL,
                                "",
                                (Label("Type: string · Default: none"), Label("Note"), p(COOL)),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ],
    ids=["sphinx", "docbook", "makeinfo", "mkdocs", "man page", "keywords"],
)
def test_pages_of_generators(html: str, expected: Section) -> None:
    assert tree(html) == expected


def test_doxygen() -> None:
    sections = tree(DOXYGEN)
    assert sections.blocks[-1] == p(HEAT)
    entry = sections.children[-1].children[0]
    assert (entry.title, entry.level, entry.anchor) == ("kiln_on", ENTRY_LEVEL, "a1")
    assert entry.blocks == (Listing(("int kiln_on ( int h )",)), p(COOL), Note("Note", (p("It is hot."),)))
