"""The decision whether a corpus can answer a keyword."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from documents.blocks import Paragraph
from documents.sections import Section
from reading.document import DocumentPassage
from reading.ranking.passages import SearchHits, find_abbreviation
from reading.ranking.relevance import KeywordQuery, QueryTerm
from reading.ranking.source_selection import (
    MAX_PASSAGES_PER_SOURCE,
    MAX_SOURCES,
    select_answers,
    select_sources,
)
from reading.ranking.sources import (
    CandidatePassage,
    InsufficientSources,
    NearestSection,
    ResearchResult,
    ResearchSource,
    normalise_keyword,
)

PHRASE = {"hot": [4], "standbi": [5]}
NEAR = {"hot": [4], "standbi": [9]}
FAR = {"hot": [4], "standbi": [60]}


def query(*lexemes: str, frequencies: Sequence[int] = (10, 10, 10)) -> KeywordQuery:
    terms = tuple(QueryTerm(lexeme, at, frequencies[at - 1]) for at, lexeme in enumerate(lexemes, start=1))
    return KeywordQuery(" ".join(lexemes), terms, corpus_passages=1000)


def passage(
    document: int,
    body: dict[str, list[int]],
    *,
    position: int = 0,
    title: dict[str, list[int]] | None = None,
    heading: dict[str, list[int]] | None = None,
    quality: float = 1.0,
    text: str = "text",
) -> CandidatePassage:
    return CandidatePassage(
        document_id=document,
        document_title=f"Document {document}",
        path=f"{document}.md",
        url=None,
        licence=None,
        quality=quality,
        passages_in_document=1,
        position=position,
        passage=DocumentPassage(None, text),
        body_hits=body,
        heading_hits=heading or {},
        title_hits=title or {},
    )


HOT_STANDBY = query("hot", "standbi")


selected = partial(select_sources, min_sources=3)


def paths(findings: ResearchResult | InsufficientSources) -> list[str | None]:
    assert isinstance(findings, ResearchResult)
    return [source.path for source in findings.sources]


def test_three_documents_with_the_phrase_are_enough() -> None:
    assert paths(selected(HOT_STANDBY, [passage(n, PHRASE) for n in (1, 2, 3)])) == [
        "1.md",
        "2.md",
        "3.md",
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"hot": [1, 2, 3]}, "one word of two"),
        (FAR, "both words, in different places"),
        ({}, "none"),
    ],
)
def test_weak_passages_do_not_count(body: dict[str, list[int]], why: str) -> None:
    findings = selected(HOT_STANDBY, [passage(1, PHRASE), passage(2, PHRASE), passage(3, body)])
    assert isinstance(findings, InsufficientSources), why
    assert findings.reason == "insufficient_sources"
    assert "only 2 documents treat it" in findings.detail


def test_three_passages_of_one_document_are_one_source() -> None:
    findings = selected(HOT_STANDBY, [passage(1, PHRASE, position=at) for at in range(3)])
    assert isinstance(findings, InsufficientSources)


def test_words_that_meet_by_chance_are_no_sources() -> None:
    assert isinstance(selected(HOT_STANDBY, [passage(n, NEAR) for n in range(9)]), InsufficientSources)


def test_the_rare_word_of_a_keyword_may_not_be_missing() -> None:
    keyword = query("cybersecur", "small", "busi", frequencies=(0, 90, 20))
    found = selected(keyword, [passage(n, {"small": [1], "busi": [2]}) for n in range(9)])
    assert isinstance(found, InsufficientSources)


def test_a_title_that_names_the_keyword_lets_passages_be_brief() -> None:
    titled = passage(3, {"standbi": [1]}, title={"hot": [1], "standbi": [2]})
    assert "3.md" in paths(selected(HOT_STANDBY, [passage(1, PHRASE), passage(2, PHRASE), titled]))


def test_the_page_on_the_keyword_comes_first() -> None:
    titled = passage(3, PHRASE, title={"hot": [1], "standbi": [2]})
    assert paths(selected(HOT_STANDBY, [passage(1, PHRASE), passage(2, PHRASE), titled]))[0] == "3.md"


def test_poor_pages_come_last_or_not_at_all() -> None:
    good = [passage(n, PHRASE) for n in (1, 2, 3)]
    assert paths(selected(HOT_STANDBY, [passage(4, PHRASE, quality=0.05), *good])) == [
        "1.md",
        "2.md",
        "3.md",
    ]


@pytest.mark.parametrize(("uses", "counts"), [([3], False), ([3, 9], True)])
def test_a_lone_word_must_be_used_repeatedly(uses: list[int], counts: bool) -> None:
    findings = selected(query("autovacuum"), [passage(n, {"autovacuum": uses}) for n in (1, 2, 3)])
    assert isinstance(findings, ResearchResult) is counts


def test_a_lone_word_in_a_heading_needs_one_use() -> None:
    candidates = [passage(n, {"autovacuum": [3]}, heading={"autovacuum": [1]}) for n in (1, 2, 3)]
    assert isinstance(selected(query("autovacuum"), candidates), ResearchResult)


def test_there_are_not_more_sources_than_an_article_can_use() -> None:
    assert len(paths(selected(HOT_STANDBY, [passage(n, PHRASE) for n in range(40)]))) == MAX_SOURCES


def test_passages_of_a_source_stand_in_reading_order() -> None:
    first = [
        passage(1, NEAR, position=2, text="c"),
        passage(1, PHRASE, position=0, text="a"),
        passage(1, PHRASE, position=1, text="b"),
    ]
    findings = selected(HOT_STANDBY, [*first, passage(2, PHRASE), passage(3, PHRASE)])
    assert isinstance(findings, ResearchResult)
    texts = {source.path: [each.text for each in source.passages] for source in findings.sources}
    assert texts["1.md"] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "Standby is an arrangement of two servers, of which one waits.",
        "Standby lets a second server take over at once.",
        "hot-standby - keep a second server ready",
    ],
)
def test_what_the_page_on_the_keyword_says_of_it_is_handed_over(text: str) -> None:
    title = {"hot": [1], "standbi": [2]}
    often = {"hot": [1, 4, 7, 10], "standbi": [2, 5, 8, 11]}
    told = passage(1, {"standbi": [1]}, position=30, title=title, text=text)
    dense = [passage(1, often, position=at, title=title, text=f"{at}") for at in range(1, 9)]
    findings = selected(
        replace(HOT_STANDBY, keyword="hot standby"), [*dense, told, passage(2, PHRASE), passage(3, PHRASE)]
    )
    assert isinstance(findings, ResearchResult)
    page = next(source for source in findings.sources if source.path == "1.md")
    assert text in [each.text for each in page.passages]
    assert len(page.passages) == MAX_PASSAGES_PER_SOURCE


def test_the_beginning_of_the_page_on_the_keyword_is_handed_over() -> None:
    title = {"hot": [1], "standbi": [2]}
    often = {"hot": [1, 4, 7, 10], "standbi": [2, 5, 8, 11]}
    texts = [
        passage(1, often if at else {"standbi": [9]}, position=at, title=title, text=f"{at}")
        for at in range(9)
    ]
    findings = selected(HOT_STANDBY, [*texts, passage(2, PHRASE), passage(3, PHRASE)])
    assert isinstance(findings, ResearchResult)
    page = next(source for source in findings.sources if source.path == "1.md")
    assert page.passages[0].text == "0"


def test_what_changed_in_a_version_is_a_source_of_last_resort() -> None:
    news = replace(passage(4, PHRASE), document_title="Server 9 release notes")
    others = [passage(n, PHRASE) for n in range(5, 5 + MAX_SOURCES)]
    assert "4.md" not in paths(selected(HOT_STANDBY, [news, *others]))
    assert "4.md" in paths(selected(HOT_STANDBY, [news, *others[:3]]))


def test_pages_named_by_the_abbreviation_count() -> None:
    wal = query("wal")
    named = passage(3, {"wal": [1]}, title={"wal": [1]})
    mention = passage(4, {"wal": [1, 2, 3]})
    keyword = query("write", "ahead", "log")
    phrase = {"write": [1], "ahead": [2], "log": [3]}
    findings = selected(keyword, [passage(1, phrase), passage(2, phrase)], SearchHits(wal, [named, mention]))
    assert sorted(map(str, paths(findings))) == ["1.md", "2.md", "3.md"]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Write-Ahead Logging (WAL) is safe.", "WAL"),
        ("write ahead logging\n(WAL)", "WAL"),
        ("Write-ahead logging (see WAL)", None),
        ("Write-ahead logging (ABC)", None),
    ],
)
def test_abbreviations_are_those_that_the_corpus_introduces(text: str, short: str | None) -> None:
    assert find_abbreviation("write-ahead logging", ["Other.", text]) == short


def spine(path: str, words: int = 160, *, quotable: bool = True, about: float = 0.92) -> ResearchSource:
    """A section about the keyword."""
    sentence = f"Standby of {path} is kept hot by its own log, and answers reads meanwhile."
    blocks = tuple(Paragraph(f"{sentence} Step {n}.") for n in range(max(1, words // 16)))
    section = Section("Hot standby", 2, "hot", blocks)
    return ResearchSource(
        f"Page {path}",
        None,
        path,
        None,
        (),
        quotable=quotable,
        section=section,
        about=about,
        titles_above=("Page",),
    )


def test_a_section_about_the_keyword_leads_and_brings_its_documents_passages() -> None:
    found = selected(
        HOT_STANDBY, [passage(n, PHRASE) for n in (1, 2, 3)], spines=[spine("9.md"), spine("2.md")]
    )
    assert isinstance(found, ResearchResult)
    assert paths(found) == ["9.md", "2.md", "1.md", "3.md"]
    assert [each.passages[0].text for each in found.sources[1:]] == ["text"] * 3
    # One without passages of its own speaks for itself.
    assert found.sources[0].passages[0].heading == "Hot standby"
    assert found.sources[0].passages[0].text.startswith("Standby of 9.md is kept hot")


@pytest.mark.parametrize(
    ("lead", "documents", "enough"),
    [
        (spine("1.md"), 1, True),
        (spine("9.md"), 0, True),
        (spine("1.md", words=100), 1, False),
        (spine("1.md", about=0.59), 1, False),
        (spine("1.md", quotable=False), 1, False),
        (spine("1.md", quotable=False), 2, False),
        (spine("9.md", quotable=False), 2, True),
        (spine("1.md", quotable=False), 3, True),
    ],
)
def test_one_page_that_may_be_quoted_is_enough_and_of_others_three(
    lead: ResearchSource, documents: int, *, enough: bool
) -> None:
    passages = [passage(n, PHRASE) for n in range(1, documents + 1)]
    found = selected(HOT_STANDBY, passages, spines=[lead])
    assert isinstance(found, ResearchResult) is enough


def test_a_copy_of_a_page_about_the_keyword_is_no_further_source() -> None:
    lead = spine("9.md", quotable=False)
    (text,) = (each.text for each in selected(HOT_STANDBY, [], spines=[spine("9.md")]).sources[0].passages)  # type: ignore[union-attr]
    passages = [passage(1, PHRASE, text=text), passage(2, PHRASE)]
    assert isinstance(selected(HOT_STANDBY, passages, spines=[lead]), InsufficientSources)
    assert paths(selected(HOT_STANDBY, [*passages, passage(3, PHRASE)], spines=[lead])) == [
        "9.md",
        "2.md",
        "3.md",
    ]


def nearest(about: float, *, quotable: bool = True) -> NearestSection:
    return NearestSection("Hot standby", "ha.html", 90, about, quotable)


@pytest.mark.parametrize(
    ("found", "near", "words", "reason"),
    [
        ((0, 0), None, 0, "nothing about “hot standbi”: none of its words occurs there"),
        ((5, 5), None, 0, "no page, section or index entry is named so, only its words occur, in “Document 1” (1.md)"),
        ((5, 5), None, 2, "only 2 documents treat it (copies count once): “Document 1” (1.md), “Document 2” (2.md), and no"),
        ((5, 5), nearest(0.5), 1, "and no page, section or index entry is named so"),
        ((5, 5), nearest(0.9), 1, "the page or section on it, “Hot standby” (ha.html), has only 90 words"),
        ((5, 5), nearest(0.9, quotable=False), 1, "and “Hot standby” (ha.html) may only be quoted in short extracts"),
    ],
)  # fmt: skip
def test_a_refusal_is_true_and_names_the_nearest_page(
    found: tuple[int, int], near: NearestSection | None, words: int, reason: str
) -> None:
    known = query("hot", "standbi", frequencies=found)
    passages = [passage(n, PHRASE) for n in range(1, words + 1)] or [passage(1, {"hot": [1]})]
    refused = selected(known, passages, nearest=near)
    assert isinstance(refused, InsufficientSources)
    assert reason in refused.detail
    assert refused.detail.endswith((" keyword.", " section."))


def test_keywords_without_words_are_refused_with_advice() -> None:
    findings = selected(query(), [])
    assert isinstance(findings, InsufficientSources)
    assert "more specific" in findings.detail


def test_spellings_of_a_keyword_share_one_cache_entry() -> None:
    assert normalise_keyword(" Write-Ahead\u00a0 LOGGING ") == normalise_keyword("write\u2011ahead logging")


COLD_BREW = query("cold", "brew")
KEEPING = query("cold", "brew", "keep", "refriger", frequencies=(10, 10, 100, 10))
"""A question: how long cold brew keeps in the refrigerator."""
ON_IT = {"cold": [1], "brew": [2]}


@pytest.mark.parametrize(
    ("body", "title", "is_answer"),
    [
        # Far apart, too: a sentence answers in its own order.
        ({**ON_IT, "keep": [3], "refriger": [40]}, {}, True),
        ({"keep": [3], "refriger": [4]}, ON_IT, True),
        # The rarer word is more than half of what is asked, the other one less.
        ({"refriger": [4]}, ON_IT, True),
        ({"keep": [4]}, ON_IT, False),
        # On another subject.
        ({"keep": [3], "refriger": [4]}, {}, False),
        ({"keep": [3], "refriger": [4], "cold": [5]}, {}, True),
        # The subject alone.
        (ON_IT, {"keep": [1], "refriger": [2]}, False),
        (ON_IT, ON_IT, False),
    ],
)
def test_an_answer_is_on_the_keyword_and_has_what_the_question_asks_beyond_it(
    body: dict[str, list[int]], title: dict[str, list[int]], is_answer: bool
) -> None:
    found = select_answers(KEEPING, COLD_BREW, [passage(1, body, title=title)])

    assert [each.path for each in found] == ["1.md"] * is_answer


def test_answers_of_pages_on_the_keyword_come_first_and_weak_ones_beside_them_are_left_out() -> None:
    asked = {"keep": [3], "refriger": [4]}
    pages = [
        passage(1, {**asked, "cold": [1]}, text="Somewhere cold."),
        passage(2, {**asked, **ON_IT}, text="Cold brew in passing."),
        passage(3, asked, title=ON_IT, text="A page on cold brew."),
        passage(3, {"refriger": [1]}, title=ON_IT, position=1, text="Its other section."),
        passage(4, asked, title=ON_IT, text="A page on cold brew."),
    ]

    found = select_answers(KEEPING, COLD_BREW, pages)

    assert [each.path for each in found] == ["3.md", "2.md"]
    assert [each.text for each in found[0].passages] == ["A page on cold brew.", "Its other section."]
    assert select_answers(COLD_BREW, COLD_BREW, pages) == ()
    assert select_answers(query(), query(), pages) == ()
