"""Sections survive JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    text_of,
    words_in,
)
from documents.json_form import NotADocumentError, decode_blocks, decode_section, encode_section
from documents.sections import Section

_TEXT = st.text("abc é\t", max_size=8)
_LINK = st.builds(Link, st.integers(0, 9), st.integers(0, 9), _TEXT)
_LEAVES: st.SearchStrategy[Block] = st.one_of(
    st.builds(Paragraph, _TEXT, st.lists(_LINK, max_size=2).map(tuple), st.just(())),
    st.builds(Listing, st.lists(_TEXT, max_size=3).map(tuple)),
    st.builds(
        Table,
        st.lists(st.tuples(_TEXT, _TEXT), max_size=3).map(tuple),
        st.one_of(st.just(()), st.tuples(_TEXT, _TEXT)),
        _TEXT,
    ),
    st.builds(Label, _TEXT),
    st.builds(Gap, _TEXT),
)


def _nested(blocks: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    several = st.lists(blocks, max_size=3).map(tuple)
    entry = st.builds(DefinitionEntry, st.lists(_TEXT, min_size=1, max_size=2).map(tuple), several, _TEXT)
    unordered = st.builds(ItemList, st.lists(st.builds(ListItem, several), max_size=3).map(tuple))
    ordered = st.builds(
        ItemList,
        st.lists(st.builds(ListItem, several), max_size=3).map(tuple),
        st.just(True),
        st.integers(0, 9),
    )
    definitions = st.builds(Definitions, st.lists(entry, max_size=2).map(tuple))
    return st.one_of(unordered, ordered, definitions, st.builds(Note, _TEXT, several))


_BLOCKS = st.lists(st.recursive(_LEAVES, _nested, max_leaves=8), max_size=4).map(tuple)
_SECTIONS = st.recursive(
    st.builds(
        Section, _TEXT, st.integers(0, 9), _TEXT, _BLOCKS, st.just(()), st.lists(_TEXT, max_size=2).map(tuple)
    ),
    lambda children: st.builds(
        Section, _TEXT, st.integers(0, 9), _TEXT, _BLOCKS, st.lists(children, max_size=3).map(tuple)
    ),
    max_leaves=5,
)


@pytest.mark.extended
@given(_SECTIONS)
def test_a_section_is_the_same_after_json(section: Section) -> None:
    assert decode_section(json.loads(json.dumps(encode_section(section)))) == section


@pytest.mark.parametrize(
    "value",
    [{"p": 3}, {"ol": []}, {"ul": [3]}, {"dl": [["a"]]}, {}, {"p": "a", "links": [[1]]}, {"unknown": "a"}],
)
def test_what_is_no_block_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(NotADocumentError):
        decode_blocks([value])


def test_nesting_is_bounded() -> None:
    value: dict[str, object] = {"p": "deep"}
    for _ in range(60):
        value = {"ul": [[value]]}
    with pytest.raises(NotADocumentError, match="deep"):
        decode_blocks([value])


def test_words_of_all_kinds_count() -> None:
    steps = ItemList((ListItem((Paragraph("Grind the beans"), Listing(("grind --fine",)))),), ordered=True)
    note = Note("Tip", (Paragraph("Weigh them"),))
    table = Table((("cold brew", "1:8"),), ("method", "ratio"), "Ratios")
    assert text_of(steps) == "Grind the beans grind --fine"
    assert [words_in(steps), words_in(note), words_in(table), words_in(Gap("figure"))] == [5, 3, 6, 0]


def test_sections_are_walked_in_reading_order_with_the_titles_above_them() -> None:
    page = Section(
        "Brewing", 0, children=(Section("Cold", 1, children=(Section("Ratio", 2),)), Section("Hot", 1))
    )
    assert [(path, section.title) for path, section in page.walk()] == [
        ((), "Brewing"),
        (("Brewing",), "Cold"),
        (("Brewing", "Cold"), "Ratio"),
        (("Brewing",), "Hot"),
    ]
