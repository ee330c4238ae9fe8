"""The questions that an article leaves open: once, in the brand's sources, and without a wait for money."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import structlog

from chassis.http.client import UnavailableError
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import OpenQuestions, ResearchRequested
from messaging import Context, Database, Dependency
from messaging.testing import write_records
from reading.pool import ReaderPool
from reading.ranking.sources import RankedPassage, ResearchResult, ResearchSource
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError, ResearchQuery
from research.handlers import Handlers
from research.questions import MAX_PASSAGES, MAX_SOURCES, merge_answers, subject_of
from research.sources.domain import SourceSettings, WebSearchSettings
from research.store import get_research
from research.web.web_search import SourcesProvider
from tests.fixtures.web_research import TEXTS, World, page

KEEPS = "How long does cold brew keep in the refrigerator?"
NITROGEN = "Why does cold brew from a tap have foam?"
CONTEXT = Context(queue="research-commands", attempt=1, log=structlog.get_logger())


def request(answers_id: UUID, *questions: str) -> DomainMessage[ResearchRequested]:
    return DomainMessage(
        event_id=new_event_id(),
        type="research.requested",
        source="orchestrator",
        timestamp="2026-11-24T09:00:00Z",
        payload=ResearchRequested(
            brand_slug="acme",
            keyword="cold brew",
            open_questions=OpenQuestions(answers_id=answers_id, questions=questions),
        ),
    )


@pytest.fixture
async def provider(research_database: Database, tmp_path: Path) -> SourcesProvider:
    for name in "abcde":
        (tmp_path / f"{name}.md").write_text(f"# Coffee {name}\n\n{TEXTS[name]}\n")
    corpus = LocalCorpus(research_database, tmp_path, readers=ReaderPool())
    await corpus.refresh()
    searching = Dependency("local_corpus", outages=(ProviderUnavailableError, UnavailableError))
    return SourcesProvider(corpus, searching, None)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        (KEEPS, "does cold brew keep in the refrigerator?"),
        (" How MUCH water?", "water?"),
        ("How are brews diluted?", "How are brews diluted?"),
        ("How soon, and how often?", ", and how often?"),
    ],
)
def test_words_that_an_answer_has_not_are_not_searched_for(question: str, subject: str) -> None:
    assert subject_of(question) == subject


def source(path: str, *texts: str) -> ResearchSource:
    passages = tuple(RankedPassage(None, text, float(len(text))) for text in texts)
    return ResearchSource(path, None, path, None, passages)


def test_a_source_of_several_questions_is_one_and_each_question_brings_few() -> None:
    merged = merge_answers(
        [
            [source("a.md", "first", "second"), source("b.md", "b")],
            [source(f"{n}.md", str(n)) for n in range(MAX_SOURCES + 2)],
            [source("a.md", "second", "third", "x", "longest of all")],
        ]
    )

    assert [each.path for each in merged] == ["a.md", "b.md", "0.md", "1.md", "2.md"]
    assert [each.text for each in merged[0].passages] == ["first", "second", "third", "longest of all"]
    assert len(merged[0].passages) - 1 == MAX_PASSAGES


async def test_one_document_is_an_answer_and_none_is_one_too(provider: SourcesProvider) -> None:
    questions = (KEEPS, "Which cold brew machines can be repaired?", NITROGEN)
    query = ResearchQuery("cold brew", "acme", SourceSettings(), command=uuid4(), questions=questions)
    found = await provider.search_questions(query)

    assert [each.path for each in found.sources] == ["c.md", "e.md"]
    assert found.sources[0].passages[0].text == TEXTS["c"]
    nothing = ResearchQuery("cold brew", "acme", SourceSettings(), command=uuid4(), questions=questions[1:2])
    assert await provider.search_questions(nothing) == ResearchResult(())


async def test_answers_are_stored_once_under_the_id_that_was_asked_for_and_nothing_is_sent(
    research_database: Database, provider: SourcesProvider
) -> None:
    answers_id = uuid4()
    handlers = Handlers(research_database, provider)
    records = [
        await handlers.research_requested(request(answers_id, KEEPS), CONTEXT),
        # Another delivery searches before the first has stored.
        await handlers.research_requested(request(answers_id, NITROGEN), CONTEXT),
    ]
    async with research_database.transaction() as tx:
        await write_records(tx, *records)
        assert tx.outgoing == []
    again = await handlers.research_requested(request(answers_id, NITROGEN), CONTEXT)

    assert again.row.outcome is None
    async with research_database.connection() as connection:
        stored = await get_research(connection, answers_id)
        fresh = await connection.fetchval("select count(*) from research where expires_at > now()")
    assert stored is not None
    assert '"path":"c.md"' in stored.sources.replace(" ", "")
    assert '"path":"e.md"' not in stored.sources.replace(" ", "")
    # It is not what is known of the keyword.
    assert fresh == 0


@pytest.mark.extended
async def test_the_web_is_searched_for_as_many_questions_as_the_brand_pays_for(world: World) -> None:
    world.write("http://one.example/c")
    world.write("http://two.example/e", page(TEXTS["e"], title="Coffee from a tap"))
    sources = SourceSettings(folder=False, web=WebSearchSettings(queries=1))
    query = ResearchQuery("cold brew", "acme", sources, command=uuid4(), questions=(KEEPS, NITROGEN))

    first = await world.research.search_questions(query)
    again = await world.research.search_questions(query)

    assert [each.url for each in first.sources] == ["http://one.example/c", "http://two.example/e"]
    assert first.sources == again.sources
    assert [each.query_params["q"] for each in world.brave.requests] == [KEEPS]


@pytest.mark.extended
async def test_without_money_a_provider_or_a_gateway_the_folder_has_to_do(
    world: World, provider: SourcesProvider
) -> None:
    (world.folder / "c.md").write_text(f"# Coffee\n\n{TEXTS['c']}\n")
    await world.corpus.refresh()
    sources = SourceSettings(web=WebSearchSettings(queries=2))
    query = ResearchQuery("cold brew", "acme", sources, command=uuid4(), questions=(KEEPS, "Cold brew tea?"))
    # Enough for one search.
    await world.api.put("/v1/spend/caps/acme", json={"day": 0.006, "month": 1})
    unpaid = await world.research.search_questions(query)
    world.brave.keys.clear()
    await world.api.put("/v1/spend/caps/acme", json={"day": 1, "month": 1})
    refused = await world.research.search_questions(replace(query, command=uuid4()))
    without = await provider.search_questions(query)

    assert "budget.exhausted" in unpaid.left_out
    assert "provider.key_refused" in refused.left_out
    assert [[each.path for each in found.sources] for found in (unpaid, refused, without)] == [["c.md"]] * 3
