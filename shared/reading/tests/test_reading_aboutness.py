"""A section is about a keyword by its title, its names and its place; its text decides among those."""

import pytest

from documents.blocks import Paragraph
from documents.sections import ENTRY_LEVEL, PAGE_LEVEL, TERM_LEVEL, Section
from reading.collection import heads_of
from reading.ranking.aboutness import (
    CollectionFacts,
    SectionHead,
    SectionKind,
    SpineCandidate,
    aboutness,
    describe_absence,
    keyword_use,
    kind_of,
    parse_keyword,
    rank_candidates,
)

FACTS = CollectionFacts(
    product_words=frozenset({"postfix"}),
    site_names=frozenset({"welcome"}),
    abbreviations={"VPN": "Virtual Private Network"},
)


def about(keyword: str, title: str, kind: SectionKind = SectionKind.SECTION, *above: str) -> float:
    return aboutness(parse_keyword(keyword), SectionHead(title, kind, titles_above=above), FACTS)


@pytest.mark.parametrize(
    ("keyword", "title", "value"),
    [
        ("Global variables", "Global Variables", 1.0),
        ("global variable", "3.1. Global Variables", 1.0),
        ("variables, global", "Global Variables", 0.95),
        ("virtual hosts", "Using Virtual Hosts", 0.92),
        ("Postfix virtual hosts", "Virtual Hosts", 0.92),
        ("hosts virtual", "Using Virtual Hosts", 0.90),
        ("connection reuse", "TLS connection reuse", 0.5 + 0.4 * 2 / 3),
        ("TLS reuse", "TLS connection reuse", 0.4 + 0.4 * 2 / 3),
        ("smtpd", "smtpd(8)", 1.0),
        ("asynchronous tasks", "Celery: asynchronous tasks", 0.93),
        ("VPN", "Virtual Private Network", 0.97),
        ("virtual private network", "VPN", 0.97),
        ("tennis serve", "Virtual Hosts", 0.0),
        ("welcome", "Welcome", 0.0),
        ("examples", "Examples", 0.0),
        ("module parameters", "Module Parameters", 0.0),
        ("wrap()", "Wrap-Up", 0.0),
        ("wrap-up", "Wrap-Up", 1.0),
        ("wrap up", "Wrap-Up", 1.0),
        ("lavender care", "Lavender", 1.0),
    ],
)
def test_titles(keyword: str, title: str, value: float) -> None:
    assert about(keyword, title) == pytest.approx(value, abs=1e-4)


def test_titles_above_hold_the_rest_of_the_keyword() -> None:
    assert about("KDE desktops", "KDE", SectionKind.SECTION, "Graphical Desktops") == 0.88
    assert about("graphical desktops by KDE", "KDE", SectionKind.SECTION, "Graphical Desktops") == 0.70
    assert about("KDE desktops", "KDE", SectionKind.SECTION, "Printers") == 0.0


@pytest.mark.parametrize(("text", "value"), [("KDE is a desktop.", 0.88), ("KDE is a program.", 0.0)])
def test_a_word_of_the_pages_above_has_to_occur(text: str, value: float) -> None:
    keyword, head = (
        parse_keyword("KDE desktop"),
        SectionHead("KDE", SectionKind.PAGE, parent_titles=("Desktops",)),
    )
    assert aboutness(keyword, head, FACTS) == 0.88
    use = keyword_use(keyword, Section("KDE", 0, blocks=(Paragraph(text),)))
    assert aboutness(keyword, head, FACTS, use) == value


@pytest.mark.parametrize(
    ("keyword", "title", "kind", "value"),
    [
        ("theft", "Locks and theft", SectionKind.PAGE, 0.85),
        ("locks", "Chains, locks and theft", SectionKind.SECTION, 0.5 + 0.4 / 3),
        ("postfix theft", "Locks and theft", SectionKind.PAGE, 0.85 * 0.92),
        # One thing among those of a section is a word of its page, perhaps in another sense.
        ("postfix scale", "Water and scale", SectionKind.SECTION, 0.0),
        # Two words besides the product's are enough to be part of a title.
        ("postfix frame size", "Choosing a frame size", SectionKind.PAGE, 0.5 + 0.4 * 2 / 3),
        ("postfix frames", "Choosing a frame size", SectionKind.PAGE, 0.0),
    ],
)
def test_members_of_a_title(keyword: str, title: str, kind: SectionKind, value: float) -> None:
    assert about(keyword, title, kind) == pytest.approx(value, abs=1e-4)


def test_most_of_the_keyword_in_the_title_and_the_rest_often_in_the_text() -> None:
    keyword, head = (
        parse_keyword("how to store coffee beans"),
        SectionHead("Storing coffee", SectionKind.PAGE),
    )
    on_it, off_it = (
        keyword_use(keyword, Section("Storing coffee", 0, blocks=(Paragraph(text),)))
        for text in ("Store coffee beans dry. " * 3, "Store coffee dry. Beans keep. " * 2)
    )
    assert aboutness(keyword, head, FACTS, on_it) == 0.7
    assert aboutness(keyword, head, FACTS, off_it) == 0.0


@pytest.mark.parametrize("keyword", ["archive options", "archive command"])
def test_a_keyword_asks_for_less_than_all_of_its_first_word(keyword: str) -> None:
    assert about(keyword, "Archives") == 0.0


def test_a_page_is_named_by_the_part_of_its_title_that_is_no_product() -> None:
    assert about("postkick", "Postfix manual - postkick(1)") == 1.0


def test_an_entry_is_no_subject_by_its_place() -> None:
    assert about("caxis", "caxis", SectionKind.ENTRY) == pytest.approx(0.95)
    assert (
        about("conditional expressions", "( expression )", SectionKind.TERM, "Conditional constructs") == 0.0
    )


def test_an_index_entry_counts_if_the_text_is_on_it() -> None:
    head = SectionHead("Sharing files", SectionKind.SECTION, words=100, index_terms=("NFS",))
    keyword = parse_keyword("NFS")
    mentions = Section("Sharing files", 2, blocks=(Paragraph("A router has an option for NFS."),))
    on_it = Section("Sharing files", 2, blocks=(Paragraph("NFS shares folders. " * 5),))
    assert aboutness(keyword, head, FACTS) == 0.82
    assert aboutness(keyword, head, FACTS, keyword_use(keyword, mentions)) == 0.0
    assert aboutness(keyword, head, FACTS, keyword_use(keyword, on_it)) == 0.82


def test_of_two_sections_with_the_title_the_fuller_one_that_opens_comes_first() -> None:
    prose = "A work queue is a list of functions that kernel threads run later, one after the other. " * 20
    page = Section("Work queues", PAGE_LEVEL, blocks=(Paragraph(prose),))
    stub = Section(
        "Tracing", PAGE_LEVEL, children=(Section("Work queue", 2, blocks=(Paragraph("See it."),)),)
    )
    found = [
        SpineCandidate(head, section, key=head.title)
        for root in (stub, page)
        for head, section in heads_of(root, path="x")
    ]
    ranked = rank_candidates(parse_keyword("work queue"), found, FACTS)
    assert [each.key for each in ranked] == ["Work queues", "Work queue"]
    assert ranked[0].about == 1.0
    assert ranked[0].score > ranked[1].score


def test_candidates_on_another_subject_are_dropped() -> None:
    page = Section("Printers", PAGE_LEVEL, blocks=(Paragraph("A work queue is a list of jobs to print."),))
    (found,) = heads_of(page, path="x")
    assert rank_candidates(parse_keyword("work queue"), [SpineCandidate(*found)], FACTS) == []


def test_kinds() -> None:
    assert [kind_of(level) for level in (PAGE_LEVEL, 1, 6, ENTRY_LEVEL, TERM_LEVEL)] == [
        SectionKind.PAGE,
        SectionKind.SECTION,
        SectionKind.SECTION,
        SectionKind.ENTRY,
        SectionKind.TERM,
    ]


def test_an_index_is_searched_by_the_stems_of_titles_and_names() -> None:
    head = SectionHead(
        "Sharing of files", SectionKind.SECTION, names=("exports",), index_terms=("NFS server",)
    )
    assert {"shar", "fil", "export", "nfs", "serv"} == head.search_stems()


@pytest.mark.parametrize(
    ("keyword", "mentions", "says"),
    [
        ("introduction", [], "more specific keyword"),
        ("notes", [], "names a part that any page may have"),
        ("the of", [], "has no searchable words"),
        ("tennis serve", [], "none of its words occurs"),
        ("serving time", [("HTTP", "http.html")], "only its words occur, in “HTTP” (http.html)"),
    ],
)
def test_a_refusal_says_what_there_is(keyword: str, mentions: list[tuple[str, str]], says: str) -> None:
    assert says in describe_absence(parse_keyword(keyword), mentions, "The folder")
