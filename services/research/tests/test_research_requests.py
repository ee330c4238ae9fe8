"""`research.requested` and `GET /v1/research/{id}` on a real PostgreSQL."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import structlog
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import eventually, running, serving
from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from documents.blocks import Paragraph
from documents.sections import Section
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import Priority, ResearchErase, ResearchRequested
from messaging import Context, Database, QueuePolicy, Service, ServiceSettings, Transaction, on_each
from messaging.testing import Broker, write_records
from reading.ranking.sources import (
    Findings,
    InsufficientSources,
    RankedPassage,
    ResearchResult,
    ResearchSource,
)
from research.clients.provider import ResearchQuery
from research.erasure import erase
from research.handlers import Handlers, store_outcomes
from research.http_api import create_api
from research.sources.domain import SourceSettings, WebSearchSettings
from research.sources.store import set_sources

KEY = "a-service-key-for-tests"
SOURCES = tuple(
    ResearchSource(
        f"Title {n}",
        None,
        f"{n}.md",
        "MIT",
        (RankedPassage("Heading", "Some text.", 1.5, ("prompt_injection",)),),
        date(2024, 5, 1),
        "Ada Lovelace",
        work="Brewing",
        section=Section("Cold brew", 2, "cold", (Paragraph("Some text."),)),
        about=0.92,
        titles_above=(f"Title {n}",),
    )
    for n in (1, 2, 3)
)
CONTEXT = Context(queue="research-commands", attempt=1, log=structlog.get_logger())


class Answers:
    """A provider that answers as told and counts how often it was asked."""

    def __init__(self, findings: Findings | Exception) -> None:
        self.findings = findings
        self.wanted: list[ResearchQuery] = []

    @property
    def asked(self) -> int:
        return len(self.wanted)

    def name(self, sources: SourceSettings) -> str:
        return "answers"

    async def search(self, wanted: ResearchQuery) -> Findings:
        assert wanted.keyword
        self.wanted.append(wanted)
        if isinstance(self.findings, Exception):
            raise self.findings
        return self.findings


def request(
    keyword: str = "cold brew",
    brand: str = "daily-grind",
    priority: Priority = Priority.HIGH,
    not_before: datetime | None = None,
) -> DomainMessage[ResearchRequested]:
    return DomainMessage(
        event_id=new_event_id(),
        type="research.requested",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id="chain",
        causation_id=None,
        payload=ResearchRequested(
            brand_slug=brand, keyword=keyword, priority=priority, not_before=not_before
        ),
    )


async def sent(
    database: Database, provider: Answers, message: DomainMessage[ResearchRequested]
) -> dict[str, Any]:
    """Handle the message as the runtime does; the envelope of the one message that was sent."""
    record = await Handlers(database, provider).research_requested(message, CONTEXT)
    async with database.connection() as connection, connection.transaction():
        tx = Transaction(connection, "research", CATALOGUE)
        await record.write(tx, [record.row])
    (row,) = tx.outgoing
    envelope: dict[str, Any] = json.loads(row.body)
    assert envelope["causation_id"] == str(message.event_id)
    assert envelope["correlation_id"] == "chain"
    return envelope


async def test_sources_are_stored_and_announced(research_database: Database) -> None:
    envelope = await sent(research_database, Answers(ResearchResult(SOURCES)), request())
    assert envelope["type"] == "research.completed"
    assert envelope["payload"]["keyword"] == "cold brew"
    async with research_database.connection() as connection:
        row = await connection.fetchrow("select * from research")
    assert row is not None
    assert (str(row["research_id"]), row["priority"], row["provider"]) == (
        envelope["payload"]["research_id"],
        "high",
        "answers",
    )
    assert (row["expires_at"] - row["created_at"]).days == 7


async def test_too_few_sources_are_announced_with_the_reason(research_database: Database) -> None:
    envelope = await sent(research_database, Answers(InsufficientSources("Too little.")), request())
    assert envelope["type"] == "research.failed"
    assert envelope["payload"] == {
        "brand_slug": "daily-grind",
        "keyword": "cold brew",
        "reason": "insufficient_sources",
        "detail": "Too little.",
    }


async def test_a_second_request_within_a_week_reuses_the_research(research_database: Database) -> None:
    provider = Answers(ResearchResult(SOURCES))
    first = await sent(research_database, provider, request("cold brew"))
    second = await sent(research_database, provider, request("Cold-Brew"))
    assert second["payload"] == {**first["payload"], "keyword": "Cold-Brew"}
    assert second["event_id"] != first["event_id"]
    assert provider.asked == 1


async def test_who_wants_it_anew_is_not_given_older_research_and_asks_once(
    research_database: Database,
) -> None:
    provider = Answers(ResearchResult(SOURCES))
    first = await sent(research_database, provider, request())
    async with research_database.connection() as connection:
        now = await connection.fetchval("select clock_timestamp()")

    anew = request(not_before=now)
    second = await sent(research_database, provider, anew)
    again = await sent(research_database, provider, anew)

    assert first["payload"]["research_id"] != second["payload"]["research_id"]
    assert again["payload"] == second["payload"]
    assert provider.asked == 2


async def test_what_was_found_before_all_was_read_is_not_reused(research_database: Database) -> None:
    provider = Answers(ResearchResult(SOURCES, is_preliminary=True))
    first = await sent(research_database, provider, request())
    second = await sent(research_database, provider, request())
    assert first["type"] == second["type"] == "research.completed"
    assert first["payload"]["research_id"] != second["payload"]["research_id"]
    assert provider.asked == 2


async def test_other_brands_and_later_weeks_search_again(research_database: Database) -> None:
    provider = Answers(ResearchResult(SOURCES))
    ids = {(await sent(research_database, provider, request()))["payload"]["research_id"]}
    ids.add((await sent(research_database, provider, request(brand="other")))["payload"]["research_id"])
    async with research_database.connection() as connection:
        await connection.execute("update research set expires_at = now()")
    ids.add((await sent(research_database, provider, request()))["payload"]["research_id"])
    assert (len(ids), provider.asked) == (3, 3)


async def test_simultaneous_requests_share_one_research(research_database: Database) -> None:
    provider = Answers(ResearchResult(SOURCES))
    handlers = Handlers(research_database, provider)
    # Both have searched before either has written.
    records = await asyncio.gather(*(handlers.research_requested(request(), CONTEXT) for _ in range(2)))

    async def write(at: int) -> str:
        async with research_database.connection() as connection, connection.transaction():
            tx = Transaction(connection, "research", CATALOGUE)
            await write_records(tx, records[at])
        return str(json.loads(tx.outgoing[0].body)["payload"]["research_id"])

    assert len(set(await asyncio.gather(write(0), write(1)))) == 1
    assert provider.asked == 2


async def test_other_sources_of_the_brand_are_searched_anew(research_database: Database) -> None:
    provider = Answers(ResearchResult(SOURCES))
    first = await sent(research_database, provider, request())
    async with research_database.connection() as connection:
        await set_sources(connection, "daily-grind", SourceSettings(web=WebSearchSettings()))
        await set_sources(connection, "other", SourceSettings(folder=False))
    second = await sent(research_database, provider, request())
    assert second["payload"]["research_id"] != first["payload"]["research_id"]
    assert [each.sources.web for each in provider.wanted] == [None, WebSearchSettings()]
    # As it was before: what was found then is good again.
    async with research_database.connection() as connection:
        await set_sources(connection, "daily-grind", SourceSettings())
    assert (await sent(research_database, provider, request()))["payload"] == first["payload"]
    assert provider.asked == 2


class AnswersEach(Answers):
    """Answers each keyword as told."""

    def __init__(self, findings: Mapping[str, Findings]) -> None:
        super().__init__(InsufficientSources("Too little."))
        self.each = findings

    async def search(self, wanted: ResearchQuery) -> Findings:
        await super().search(wanted)
        return self.each[wanted.keyword]


async def test_what_ends_together_is_written_together(research_database: Database) -> None:
    refused = InsufficientSources("Too little.")
    provider = AnswersEach(
        {
            "cold brew": ResearchResult(SOURCES),
            "Cold-Brew": ResearchResult(SOURCES),
            "tea": refused,
            "half": ResearchResult(SOURCES[:1], is_preliminary=True),
        }
    )
    handlers = Handlers(research_database, provider)
    known = (await sent(research_database, provider, request("cold brew", "third")))["payload"]
    asked = [
        request("cold brew"),
        request("Cold-Brew"),
        request("tea"),
        request("cold brew", "other"),
        request("cold brew", "third"),
        request("half"),
        request("half"),
        request("cold brew", "gone"),
    ]
    ends = await asyncio.gather(*(handlers.research_requested(each, CONTEXT) for each in asked))
    async with research_database.transaction() as tx:
        gone = ResearchErase(brand_slug="gone", erasure_id=uuid4())
        await erase([asked[-1].model_copy(update={"payload": gone, "timestamp": datetime.now(UTC)})], tx)
        tx.outgoing.clear()
        await write_records(tx, *ends)
        answers = [json.loads(row.body) for row in tx.outgoing]
        tx.outgoing.clear()
    assert {end.write for end in ends} == {store_outcomes}
    assert [each["causation_id"] for each in answers] == [str(each.event_id) for each in asked[:-1]]
    found = [each["payload"].get("research_id") for each in answers]
    # The same keyword in another spelling is one, what is preliminary is nobody else's.
    assert found[0] == found[1]
    assert (found[2], answers[2]["payload"]["reason"]) == (None, "insufficient_sources")
    assert found[4] == known["research_id"]
    assert len({found[0], *found[3:]}) == 5
    async with research_database.connection() as connection:
        stored = await connection.fetch(
            "select research_id, (select count(*) from sources where sources.research_id = research.research_id) as sources"
            " from research"
        )
    counts = {str(row["research_id"]): row["sources"] for row in stored}
    assert counts == dict(zip((found[0], *found[3:]), (3, 3, 3, 1, 1), strict=True))


async def test_what_cannot_be_written_spoils_nothing_but_itself(
    rabbitmq_url: str, make_database: Callable[[str], Awaitable[str]]
) -> None:
    all_asked = asyncio.Event()
    keywords = ["cold brew", "bad", "espresso", "tea", "moka pot"]
    unwritable = replace(SOURCES[0], title="A title\x00 that the database cannot hold")

    class AtOnce(AnswersEach):
        async def search(self, wanted: ResearchQuery) -> Findings:
            findings = await super().search(wanted)
            if self.asked >= len(keywords):
                all_asked.set()
            await all_asked.wait()
            return findings

    provider = AtOnce(
        dict.fromkeys(keywords, ResearchResult(SOURCES)) | {"bad": ResearchResult((unwritable, *SOURCES))}
    )
    settings = ServiceSettings(
        rabbitmq_url=rabbitmq_url, database_url=await make_database("research"), http_port=0
    )
    service = Service("research", settings, CATALOGUE)
    handlers = Handlers(service.database, provider)
    service.consume(
        "research-commands",
        on_each(handlers.research_requested, ResearchRequested),
        policy=QueuePolicy(max_concurrency=len(keywords), max_attempts=1),
    )
    messages = [request(keyword) for keyword in keywords]
    async with running(service), Broker.connected(rabbitmq_url) as broker:
        for message in (*messages, *messages):
            await broker.publish("commands", "research-commands", encode(message))
        events = [json.loads((await broker.take("orchestrator-events")).body) for _ in keywords[1:]]
        dead = await broker.take("research-commands-dlq")
        await eventually(lambda: not service.runners[0].in_hand)
        assert await broker.depth("orchestrator-events") == 0
        assert await broker.depth("research-commands-dlq") == 0
    assert json.loads(dead.body)["payload"]["keyword"] == "bad"
    assert {event["type"] for event in events} == {"research.completed"}
    assert {event["payload"]["keyword"] for event in events} == {*keywords} - {"bad"}


async def test_a_provider_is_told_the_command_and_how_much_patience_is_left(
    research_database: Database,
) -> None:
    provider = Answers(InsufficientSources("Too little."))
    message = request()
    for attempt in (1, 2, 3):
        context = Context(queue="research-commands", attempt=attempt, log=structlog.get_logger())
        await Handlers(research_database, provider).research_requested(message, context)
    assert [each.patient for each in provider.wanted] == [True, True, False]
    assert {each.command for each in provider.wanted} == {message.event_id}


@pytest.fixture
async def api(research_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(
        create_api(
            research_database,
            ServiceKey(SecretStr(KEY)),
            look_again=lambda: None,
            look_for_uploads=lambda: None,
        )
    )
    async with httpx.AsyncClient(
        transport=transport, base_url="http://research", headers={"X-Service-Key": KEY}
    ) as client:
        yield client


@pytest.fixture
async def research_id(research_database: Database) -> UUID:
    envelope = await sent(research_database, Answers(ResearchResult(SOURCES)), request())
    return UUID(envelope["payload"]["research_id"])


async def test_research_can_be_read_by_id(api: httpx.AsyncClient, research_id: UUID) -> None:
    response = await api.get(f"/v1/research/{research_id}")
    assert response.status_code == 200
    body = response.json()
    assert (body["research_id"], body["brand_slug"], body["keyword"], body["provider"]) == (
        str(research_id),
        "daily-grind",
        "cold brew",
        "answers",
    )
    assert [source["n"] for source in body["sources"]] == [1, 2, 3]
    assert body["sources"][0] == {
        "n": 1,
        "title": "Title 1",
        "url": None,
        "path": "1.md",
        "licence": "MIT",
        "quotable": True,
        "published_on": "2024-05-01",
        "author": "Ada Lovelace",
        "work": "Brewing",
        "about": 0.92,
        "titles_above": ["Title 1"],
        "section": {
            "title": "Cold brew",
            "level": 2,
            "anchor": "cold",
            "anchors": [],
            "names": [],
            "blocks": [{"p": "Some text."}],
            "children": [],
        },
        "passages": [
            {"heading": "Heading", "text": "Some text.", "score": 1.5, "flags": ["prompt_injection"]}
        ],
    }


async def test_several_can_be_read_at_once_and_unknown_ones_are_left_out(
    api: httpx.AsyncClient, research_id: UUID
) -> None:
    alone = (await api.get(f"/v1/research/{research_id}")).json()
    response = await api.get("/v1/research", params={"id": [str(research_id), str(uuid4())]})
    assert response.status_code == 200
    assert response.json() == {"items": [alone]}


@pytest.mark.parametrize("ids", [[], [str(uuid4())] * 51])
async def test_how_many_at_once_has_bounds(api: httpx.AsyncClient, ids: list[str]) -> None:
    response = await api.get("/v1/research", params={"id": ids})
    assert response.status_code == 422
    assert "1 to 50" in response.json()["detail"]


async def test_unchanged_research_is_not_sent_twice(api: httpx.AsyncClient, research_id: UUID) -> None:
    etag = (await api.get(f"/v1/research/{research_id}")).headers["etag"]
    for sends in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        response = await api.get(f"/v1/research/{research_id}", headers={"If-None-Match": sends})
        assert (response.status_code, response.content) == (304, b"")
        # The first answer was compressed, hence weak.
        assert response.headers["etag"].removeprefix("W/") == etag.removeprefix("W/")
    assert (
        await api.get(f"/v1/research/{research_id}", headers={"If-None-Match": '"other"'})
    ).status_code == 200


@pytest.mark.parametrize("unknown", ["b882f95c-0fdf-48c0-86be-3caabf4fe152", "nonsense"])
async def test_unknown_ids_are_404_with_advice(api: httpx.AsyncClient, unknown: str) -> None:
    response = await api.get(f"/v1/research/{unknown}")
    assert response.status_code == 404
    assert "research.completed" in response.json()["detail"]


@pytest.mark.parametrize("headers", [{"X-Service-Key": ""}, {"X-Service-Key": "wrong"}])
async def test_the_service_key_is_required(
    api: httpx.AsyncClient, research_id: UUID, headers: dict[str, str]
) -> None:
    assert (await api.get(f"/v1/research/{research_id}", headers=headers)).status_code == 401
    assert (await api.get(f"/v1/research?id={research_id}", headers=headers)).status_code == 401


@pytest.mark.extended
async def test_nothing_that_is_asked_makes_it_fail(research_database: Database, research_id: UUID) -> None:
    app = create_api(research_database, ServiceKey(SecretStr(KEY)), look_again=lambda: None)
    document = app.openapi()
    known = {"research_id": [str(research_id)], "id": [str(research_id)], "If-None-Match": ["*"]}
    async with serving(app) as origin:
        target = FuzzTarget(
            origin, [*document["paths"], "/docs", "/v1/{x}"], known, key=KEY, document=document
        )
        answered = await ask_strangely(target, count=300)
    assert {200, 401, 404, 405, 422} <= set(answered)
