"""Sections are found by what they are about: titles, other names, index terms, and the place of a title in its page."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chassis import Connection
from documents.blocks import Block, Paragraph
from documents.sections import IndexTerm, Section, TocLink
from messaging import Database
from reading.document import DocumentPassage, ExtractedDocument
from reading.folder import FileStat
from reading.ranking.aboutness import CollectionFacts
from research.clients.spines import SectionHits, search_sections
from research.index import progress, section_lookup
from research.index.collection_facts import update_collection_facts
from research.index.exclusions import exclude_paragraphs, find_documents_to_trim, find_repeated_paragraphs
from research.index.files import IndexedFile, save_files
from research.index.lookup import update_planner_statistics
from research.index.section_lookup import SectionPlace
from research.index.section_names import names_within, stems_for_search
from research.index.sections import shorten_section

NOTICE = "All rates of the house are subject to change without notice at any time."


def prose(words: int, about: str = "the subject") -> tuple[Block, ...]:
    """Paragraphs of about so many words that begin with a definition."""
    return tuple(
        Paragraph(f"{about.capitalize()} is a part of the machine, and step {n} of it has its own rule.")
        for n in range(max(1, words // 16))
    )


def page(title: str, *children: Section, words: int = 200, blocks: tuple[Block, ...] = ()) -> Section:
    return Section(title, 0, blocks=blocks or prose(words, title), children=children)


def section(title: str, *children: Section, level: int = 2, words: int = 200, **fields: Any) -> Section:
    return Section(title, level, title.lower().replace(" ", "-"), prose(words, title), children, **fields)


def document(root: Section, **facts: Any) -> ExtractedDocument:
    passages = tuple(
        DocumentPassage(each.title, block.text)
        for _, each in root.walk()
        for block in each.blocks[:4]
        if isinstance(block, Paragraph)
    )
    return ExtractedDocument(root.title, passages, sections=root, **facts)


async def save(database: Database, corpus: str, documents: Mapping[str, ExtractedDocument]) -> None:
    files = [IndexedFile(FileStat(path, 1, 1), each) for path, each in documents.items()]
    async with database.transaction() as tx:
        await save_files(tx.connection, corpus, files)
        await progress.begin(tx.connection, corpus, 0)
        await progress.complete(tx.connection, corpus)


async def index(database: Database, corpus: str, documents: Mapping[str, ExtractedDocument]) -> None:
    await save(database, corpus, documents)
    await update_collection_facts(database, corpus)


async def hits(database: Database, keyword: str, corpus: str = "/c") -> SectionHits:
    async with database.connection() as connection:
        return await search_sections(connection, [corpus], keyword, ())


def found(hits: SectionHits) -> list[tuple[str, str, float]]:
    """Path, title and aboutness of each spine."""
    return [
        (each.key.path, each.head.title, each.about)
        for each in hits.spines
        if isinstance(each.key, SectionPlace)
    ]


ON_DISKS = Section("Installation", 2, "installation", prose(200, "installing arrays on disks"))
DISKS = {
    "disks.html": document(
        page("Disks", section("Partitions", section("Resizing", level=3)), section("Encrypting a disk")),
        toc=(TocLink("Arrays", "raid.html"),),
    ),
    "raid.html": document(
        page("Arrays", section("Creating an array", names=("mdadm --create",)), ON_DISKS),
    ),
    "tape.html": document(page("Tapes", section("Installation"), section("Robots", words=60))),
    "copy/raid.html": document(page("Arrays", section("Creating an array"), ON_DISKS)),
    "index.html": document(
        page("Index", words=20), index_terms=(IndexTerm("LUKS", "disks.html#encrypting-a-disk"),)
    ),
}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("Partitions", [("disks.html", "Partitions")]),
        # A short section brings its page.
        ("resizing partitions", [("disks.html", "Resizing"), ("disks.html", "Disks")]),
        ("using partitions", [("disks.html", "Partitions")]),
        ("disk encryption", [("disks.html", "Encrypting a disk"), ("disks.html", "Disks")]),
        # Of copies, one; its parent page is known from a table of contents.
        ("Installation of arrays on disks", [("raid.html", "Installation"), ("raid.html", "Arrays")]),
        # A title above that the section's own text never mentions.
        ("Robots of arrays", []),
        ("holidays in Spain", []),
        # A word of the text that no title has.
        ("machine", []),
    ],
)
async def test_a_keyword_finds_sections_by_titles_and_place(
    research_database: Database, keyword: str, expected: list[tuple[str, str]]
) -> None:
    await index(research_database, "/c", DISKS)
    spines = found(await hits(research_database, keyword))
    assert [(path, title) for path, title, about in spines if about >= 0.7] == expected


async def test_an_index_leads_to_a_section_that_is_on_the_term(research_database: Database) -> None:
    luks = Section("Encrypting a disk", 2, "luks", prose(200, "LUKS"))
    other = Section("Opening a disk", 2, "open", prose(200, "the container"))
    terms = (IndexTerm("LUKS", "disks.html#luks"), IndexTerm("LUKS", "disks.html#open"))
    documents = {
        "disks.html": document(page("Disks", luks, other)),
        "index.html": document(page("Index", words=20), index_terms=terms),
    }
    await index(research_database, "/c", documents)
    assert found(await hits(research_database, "LUKS")) == [
        ("disks.html", "Encrypting a disk", 0.82),
        ("disks.html", "Disks", 0.8),
    ]
    # Terms that are gone lead nowhere.
    await index(research_database, "/c", {"index.html": document(page("Index", words=20))})
    assert found(await hits(research_database, "LUKS")) == []


async def test_a_spine_has_all_below_it_in_its_order_and_no_more_than_an_article_needs(
    research_database: Database,
) -> None:
    long = page(
        "Disks",
        section("Partitions", section("Resizing", level=3), words=1_000),
        *[section(f"Disk {n}", words=900) for n in range(4)],
    )
    await index(research_database, "/c", {"disks.html": document(long)})
    (partitions,) = (await hits(research_database, "Partitions")).spines
    assert partitions.section == long.children[0]
    (disks,) = (each for each in (await hits(research_database, "Disks")).spines if each.section.level == 0)
    assert [child.title for child in disks.section.children] == ["Partitions", "Disk 0"]
    assert 2_000 < disks.section.words <= 2_500


def test_a_section_is_shortened_at_whole_blocks() -> None:
    long = page("A", section("B", section("C", words=100), words=100), section("D", words=100), words=100)
    short = shorten_section(long, 250)
    assert [each.title for _, each in short.walk()] == ["A", "B", "C"]
    assert 230 < short.words <= 250
    assert shorten_section(long, 10_000) is long


async def test_paragraphs_that_repeat_over_a_folder_are_in_no_section(research_database: Database) -> None:
    documents = {
        f"{n}.html": document(page(f"Chapter {name}", blocks=(Paragraph(NOTICE), *prose(200, name))))
        for n, name in enumerate(["brewing", "grinding", "steaming", "roasting"])
    }
    await index(research_database, "/c", documents)
    async with research_database.transaction() as tx:
        repeated = frozenset(await find_repeated_paragraphs(tx.connection, "/c"))
        for each in await find_documents_to_trim(tx.connection, "/c", repeated):
            await exclude_paragraphs(tx.connection, each, repeated)
    (spine,) = (await hits(research_database, "Chapter grinding")).spines[:1]
    assert NOTICE not in spine.section.text
    assert "Grinding is a part" in spine.section.text


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("3.1. Using the smtpd command", ["smtpd"]),
        ("Guide", ["guid"]),
        ("Encrypted disks and encryption", ["disk", "encrypt"]),
        ("", []),
    ],
)
def test_names_are_looked_up_by_their_telling_words(text: str, stems: list[str]) -> None:
    assert stems_for_search(text) == stems


def test_names_within_a_keyword_are_bounded() -> None:
    assert names_within(["b", "a"]) == ["b", "a", "a b"]
    assert names_within(["b"], {"c", "a"}) == ["b", "a b", "b c"]
    assert len(names_within([str(n) for n in range(6)])) == 63
    assert len(names_within([str(n) for n in range(20)])) == 210


def many(pages: int) -> dict[str, ExtractedDocument]:
    """Pages about subjects of their own, each with a section that all pages have."""
    return {
        f"{n}.html": document(page(f"Subject{n} of machine{n % 50}", section("Setup", words=20), words=20))
        for n in range(pages)
    }


async def rows_read(connection: Connection, keyword: str) -> int:
    """The rows of tables that the lookup of a keyword reads."""
    arguments = section_lookup.lookup_arguments(["/c"], [keyword], CollectionFacts())
    plan = json.loads(
        await connection.fetchval(f"explain (analyze, format json) {section_lookup.FIND}", *arguments)
    )
    pending, rows = [plan[0]["Plan"]], 0
    while pending:
        node = pending.pop()
        pending += node.get("Plans", [])
        if "Relation Name" in node:
            removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
            rows += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return round(rows)


@pytest.mark.extended
@pytest.mark.parametrize("keyword", ["Subject7", "setup of subject7", "machine7 setup guide"])
async def test_a_keyword_costs_no_more_in_ten_times_the_documents(
    research_database: Database, keyword: str
) -> None:
    async def rows(pages: int) -> int:
        await save(research_database, "/c", many(pages))
        async with research_database.connection() as connection:
            await update_planner_statistics(connection)
            # Some thousand rows are scanned faster than looked up.
            await connection.execute("set enable_seqscan = off; set enable_hashjoin = off")
            return await rows_read(connection, keyword)

    few, lots = await rows(200), await rows(2_000)
    assert few > 0
    assert lots < 3 * few


async def test_titles_lose_the_name_of_the_site(research_database: Database) -> None:
    names = ("Disks", "Tapes", "Arrays", "Printers", "Screens")
    documents = {f"{name}.html": document(page(f"{name} (Hardware Handbook 7.3)")) for name in names}
    await index(research_database, "/c", documents)
    (spine,) = (await hits(research_database, "tapes")).spines
    assert (spine.head.title, spine.about) == ("Tapes", 1.0)
    assert isinstance(spine.key, SectionPlace)
    assert spine.key.page_title == "Tapes"
