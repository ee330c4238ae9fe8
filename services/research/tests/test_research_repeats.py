"""What repeats over the pages of a site is no part of them, and one text in several copies is one source."""

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.near_duplicates import are_near_duplicates, shingles
from reading.ranking.sources import InsufficientSources, ResearchResult
from research.clients.local_corpus import LocalCorpus
from research.index.paragraphs import fingerprint, remove_paragraphs

OFFER = "Whoever orders two bags of the house blend by Friday gets a cup with our lion on it, brewed for cold brew coffee."
PAGES = {
    "water.html": "Cold brew coffee wants soft water, because hard water hides the little acid that it has.",
    "beans.html": "For cold brew coffee the darker roasts are often chosen, since they give their taste away sooner.",
    "time.html": "Cold brew coffee steeps for twelve hours or more, and in the fridge for a whole day.",
    "grind.html": "A coarse grind keeps cold brew coffee clear; what is ground finer ends up as mud in the glass.",
}


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def page(text: str, *, box: str = OFFER) -> str:
    return f"<title>A page</title><div class='x'><p>{text}</p><p>{box}</p></div>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        write(tmp_path, f"site/{name.removesuffix('.html')}/{name}", page(text))
    return tmp_path


async def look(
    database: Database, folder: Path, keyword: str = "cold brew coffee"
) -> ResearchResult | InsufficientSources:
    corpus = LocalCorpus(database, folder, readers=ReaderPool())
    await corpus.refresh()
    return await corpus.search(keyword, brand="acme")


def texts(findings: ResearchResult | InsufficientSources) -> list[str]:
    assert isinstance(findings, ResearchResult), findings
    return sorted(passage.text for source in findings.sources for passage in source.passages)


async def test_a_box_on_every_page_of_a_site_is_left_out(research_database: Database, folder: Path) -> None:
    assert texts(await look(research_database, folder)) == sorted(PAGES.values())
    assert isinstance(await look(research_database, folder, "house blend"), InsufficientSources)


async def test_two_pages_that_say_the_same_may_quote_each_other(
    research_database: Database, folder: Path
) -> None:
    for name in ("water", "beans"):
        write(
            folder,
            f"site/{name}/{name}.html",
            page(PAGES[f"{name}.html"], box="It says nothing more than that."),
        )
    assert sum(OFFER in text for text in texts(await look(research_database, folder))) == 2


async def test_what_no_longer_repeats_comes_back(research_database: Database, folder: Path) -> None:
    await look(research_database, folder)
    for name in ("water", "beans"):
        write(
            folder,
            f"site/{name}/{name}.html",
            page(PAGES[f"{name}.html"], box="It says nothing more than that."),
        )
    assert sum(OFFER in text for text in texts(await look(research_database, folder))) == 2


async def test_a_page_that_comes_later_loses_the_box_too(research_database: Database, folder: Path) -> None:
    await look(research_database, folder)
    milk = "With milk, cold brew coffee loses the last of what is sour in it, and half of its taste."
    write(folder, "site/milk/milk.html", page(milk))
    assert texts(await look(research_database, folder)) == sorted([*PAGES.values(), milk])


async def test_what_an_ended_process_has_not_left_out_the_next_one_does(
    research_database: Database, folder: Path
) -> None:
    await look(research_database, folder)
    async with research_database.connection() as connection:
        await connection.execute("update passages set content = content || E'\\n\\n' || $1", OFFER)
        await connection.execute("update documents set left_out = null")
    assert texts(await look(research_database, folder)) == sorted(PAGES.values())


async def test_three_formats_of_one_text_are_no_site(research_database: Database, tmp_path: Path) -> None:
    paragraphs = [PAGES["water.html"], PAGES["beans.html"]]
    write(tmp_path, "a.md", "\n\n".join(paragraphs))
    write(tmp_path, "a.txt", "\n\n".join(paragraphs))
    write(tmp_path, "a.html", "".join(f"<p>{each}</p>" for each in paragraphs))
    async with research_database.connection() as connection:
        await look(research_database, tmp_path)
        assert await connection.fetchval("select count(*) from passages") == 3


async def test_copies_of_a_text_are_one_source(research_database: Database, tmp_path: Path) -> None:
    text = " ".join(PAGES.values())
    edited = text.replace("twelve hours", "fourteen hours").replace("often", "usually")
    write(tmp_path, "guide.html", f"<title>Guide</title><p>{text}</p>")
    write(tmp_path, "guide.txt", text)
    write(tmp_path, "v2/guide.md", f"# The guide\n\n{edited}")
    findings = await look(research_database, tmp_path)
    assert isinstance(findings, InsufficientSources)
    assert "only 1 document treats it (copies count once)" in findings.detail
    for name in ("time.html", "grind.html"):
        write(
            tmp_path,
            f"others/{name}",
            f"<title>More</title><p>{OFFER}</p><p>{name} is another text of some words.</p>",
        )
    write(
        tmp_path,
        "others/one.md",
        "In summer a glass of cold brew coffee over ice is what most guests ask for first.",
    )
    found = await look(research_database, tmp_path)
    assert isinstance(found, ResearchResult)
    assert len([source for source in found.sources if "guide" in str(source.path)]) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (PAGES["water.html"], f"{OFFER} {PAGES['water.html']} {PAGES['time.html']}", True),
        (PAGES["water.html"], PAGES["water.html"].upper().replace(",", " -"), True),
        (PAGES["water.html"], PAGES["beans.html"], False),
        (
            f"{OFFER} {PAGES['water.html']}",
            f"{PAGES['water.html']} {PAGES['time.html']} {PAGES['beans.html']}",
            False,
        ),
        ("two words", "two words", False),
    ],
)
def test_one_text_is_known_by_its_runs_of_words(one: str, other: str, same: bool) -> None:
    assert are_near_duplicates(shingles([one]), shingles([other])) is same
    assert are_near_duplicates(shingles([other]), shingles([one])) is same


def test_figures_and_case_do_not_tell_notices_apart() -> None:
    assert fingerprint("Page 3 of 12 — The Daily Grind") == fingerprint("PAGE 11 of 12: the daily grind!")
    assert fingerprint("A page") != fingerprint("The page")
    assert remove_paragraphs("Keep this.\n\nPage 3 of 12", {fingerprint("page 0 of 0")}) == "Keep this."


@pytest.mark.extended
async def test_many_pages_are_counted_in_time(research_database: Database, tmp_path: Path) -> None:
    for n in range(300):
        write(
            tmp_path,
            f"{n % 7}/{n}.html",
            page(f"Page {chr(97 + n % 26) * 9}{n} says what no other page has ever said."),
        )
    async with asyncio.timeout(60):
        await look(research_database, tmp_path, "house blend")
    async with research_database.connection() as connection:
        assert await connection.fetchval("select count(*) from passages where content like '%lion%'") == 0
        assert await connection.fetchval("select count(*) from passages") == 300


@pytest.mark.extended
@given(st.lists(st.text() | st.text(st.characters(max_codepoint=127)), max_size=3))
@example(["One two_three\x1ffour", "FIVE 6 seven"])
@example(["Gro\u00dfe Stra\u00dfe in \u0130stanbul, two of them"])
def test_runs_are_of_words_that_follow_each_other_folded(texts: list[str]) -> None:
    words = [word.casefold() for word in re.findall(r"\w+", "\n".join(texts))]
    assert shingles(texts) == {tuple(words[at : at + 5]) for at in range(len(words) - 4)}
