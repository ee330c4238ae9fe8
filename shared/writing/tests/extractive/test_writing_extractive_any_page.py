"""The digest of pages that nobody foresaw: nothing but the source's own words, in a time that follows from its size."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.blocks import (
    Block,
    Gap,
    ItemList,
    Listing,
    ListItem,
    Note,
    Paragraph,
    Table,
    text_of,
)
from documents.sections import Section
from documents.source_minimum import MIN_SHOWN_WORDS
from tests.fixtures.digests import GAS, KILN, KINDS, POWER, WOOD, P, digest, page, quoted
from tests.fixtures.kilns import LOADING
from writing import InsufficientSourcesError
from writing.article import MAX_META_DESCRIPTION, ArticleSource, SourcePassage

_TEXTS = st.sampled_from(
    [KILN, WOOD, GAS, POWER, LOADING, "See also:", "It is hot. This is so.", "[1] *a* `b` <i> & | ~ # 1. x", "- no item",
     "1. no item", "# no heading", "For example,", "the following:", "咖啡 ☕ über", "\\[2] [3](x)", "> no quotation", "a\\"]
)  # fmt: skip
_LEAVES: st.SearchStrategy[Block] = st.one_of(
    st.builds(Paragraph, st.lists(_TEXTS, min_size=1, max_size=3).map(" ".join)),
    st.builds(
        Listing,
        st.lists(st.sampled_from(["x = 1", "````", "  y", "", "- z"]), min_size=1, max_size=4).map(tuple),
    ),
    st.builds(Table, st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=3).map(tuple)),
    st.builds(Gap, st.sampled_from(["figure", "table"])),
)


def _lists(inner: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    blocks = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ItemList, st.lists(st.builds(ListItem, blocks), max_size=3).map(tuple), st.booleans()),
        st.builds(Note, st.sampled_from(["", "Note", "*Tip*"]), blocks),
    )


_BLOCKS = st.lists(st.recursive(_LEAVES, _lists, max_leaves=6), max_size=5).map(tuple)
_SECTIONS = st.recursive(
    st.builds(Section, st.sampled_from(["Kilns", "Notes", "Firing", "*"]), st.just(2), st.just(""), _BLOCKS),
    lambda inner: st.builds(
        Section,
        st.sampled_from(["Kilns", "Overview"]),
        st.just(2),
        st.just(""),
        _BLOCKS,
        st.lists(inner, max_size=4).map(tuple),
    ),
    max_leaves=5,
)


@pytest.mark.extended
@settings(max_examples=80, deadline=None)
@given(section=_SECTIONS, keyword=st.sampled_from(["kiln", "☕", "is the", "kilns that fire"]))
def test_whatever_a_page_holds_is_shown_verbatim(section: Section, keyword: str) -> None:
    whole = replace(section, blocks=(P(KILN), *section.blocks), children=(*section.children, *KINDS))
    try:
        article = digest(whole, keyword=keyword)
    except InsufficientSourcesError:
        return
    text = "\n".join(" ".join(text_of(block).split()) for _, each in whole.walk() for block in each.blocks)
    titles = [each.title for _, each in whole.walk()]
    for shown, n in quoted(article):
        assert n == 1
        told = shown
        for title in (*map(str.capitalize, titles), *titles, "Note", "*Tip*"):
            told = told.removeprefix(f"{title}: ")
        assert all(" ".join(part.split()) in text for part in told.split(" […] "))
    assert article.word_count >= MIN_SHOWN_WORDS
    assert 1 <= len(article.title) <= 60
    assert 1 <= len(article.meta_description) <= MAX_META_DESCRIPTION
    assert 1 <= len(article.key_points) <= 5
    assert article.cited == (1,)
    assert digest(whole, keyword=keyword) == article


@pytest.mark.extended
@pytest.mark.parametrize(
    "piece",
    ["a", "a. ", "(a b c d e f. ", "SELECT-", "kiln (", "a/b", "x(", "[", "“", "A. B. ", "e.g. ", "a.b", "for more ", "!?", "...",
     "a\u0301", "kiln-", "see the ", "as described in the ", "the first ", "If it, ", "the example ", "will 20", "://a@", "This "],
)  # fmt: skip
def test_sources_made_to_be_slow_take_time_by_their_size(piece: str) -> None:
    title = (piece * 300)[:300]
    paragraphs = [
        P((piece * size)[:size]) for size in (1_400, 19_000, 400_000) for _ in range(20_000 // size + 1)
    ]
    deep: Section = Section(title, 2, blocks=tuple(paragraphs))
    for _ in range(20):
        deep = Section(title, 2, blocks=(P(KILN),), children=(deep,))
    passages = (SourcePassage(title, "\n\n".join([(piece * 19_000)[:19_000]] * 10), 1.0),)
    began = time.process_time()
    digest(page(P(KILN), children=(*KINDS, deep)), ArticleSource(9, title, passages))
    assert time.process_time() - began < 20
