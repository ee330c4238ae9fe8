"""A small model that really runs as the writer of a brand: its inventions are not published, and its tokens are paid.

    deploy/local/setup-model.sh && make test ARGS="-m real -n 0 -s tests/end_to_end/test_real_model.py"

Research is a stand-in; orchestrator, gateway and monitor are real, on a real broker and real databases.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import aio_pika
import asyncpg
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from brandctl.local import services
from chassis.testing import eventually, serving
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchCompleted
from tests.fixtures import cold_brew, kilns
from writing import ArticleSource, SourcePassage
from writing.model.answers import DraftSentence
from writing.model.claims.wording import sentences_of
from writing.model.drafting import RejectedSentence, SupportedSentence, WritingMaterial

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
READ, WRITTEN = 150_000, 600_000
"""Micro-dollars of a million tokens."""
PASSAGES: Final = {
    "cold brew": [list(paragraphs[:2]) for paragraphs in cold_brew.PAGES.values()],
    "kiln": [[kilns.DEFINITION], [kilns.CONES], [kilns.SHELVES]],
}
"""By keyword: those of each source. Few, because every word takes its time."""
ENDED: Final = {"publishing", "completed", "refused", "needs_review", "failed"}
ANSWER_TOKENS: Final = 512
"""Of an answer, in a context of 2,048."""
MOST_ANSWERS: Final = 7
"""Three sections, each sent back once, and title and description."""
PATIENCE: Final = 3600.0
"""Seconds for a keyword: so many answers of a model that may have a tenth of a processor."""
_NUMBERS: Final = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen",
)
_JOINING: Final = set(
    re.findall(
        r"\w+",
        "about after also been before being between both does each from have into less many more most much only other over same"
        " some such than that their them then there these they this those through under until very were what when where which"
        " while will with",
    )
)


@dataclass(frozen=True)
class World:
    addresses: services.ServiceAddresses
    databases: Mapping[str, str]
    rabbitmq_url: str

    def client(self, service: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.addresses.url(service), headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
        )

    async def rows(self, query: str) -> list[dict[str, Any]]:
        """From the orchestrator's database."""
        connection = await asyncpg.connect(self.databases["orchestrator"])
        try:
            return [dict(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    async def ledger(self) -> list[dict[str, Any]]:
        async with self.client("gateway") as gateway:
            items: list[dict[str, Any]] = (await gateway.get("/v1/spend/calls?limit=200")).json()["items"]
            return items

    async def spent(self) -> dict[str, int]:
        """Of the brand today: `reserved`, `spent`."""
        async with self.client("gateway") as gateway:
            scopes = (await gateway.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
        day = scopes[0]["day"]
        return {name: day[name] for name in ("reserved", "spent")}

    async def write(self, keyword: str, within: float) -> dict[str, Any]:
        """A keyword on which research has found its sources; as it is at its end."""
        number = list(PASSAGES).index(keyword)
        async with self.client("orchestrator") as api:
            brand = {"name": "Acme", "writer": "model", "approval": "nothing"}
            (await api.put("/v1/brands/acme", json=brand)).raise_for_status()
            accepted = (await api.post("/v1/brands/acme/research", json={"keywords": [keyword]})).json()
            found = DomainMessage(
                event_id=new_event_id(),
                type="research.completed",
                source="research",
                timestamp=datetime.now(UTC),
                correlation_id=accepted["correlation_id"],
                payload=ResearchCompleted(brand_slug="acme", research_id=UUID(int=number), keyword=keyword),
            )
            connection = await aio_pika.connect(self.rabbitmq_url)
            async with connection, connection.channel() as channel:
                events = await channel.get_exchange("brand-events", ensure=False)
                await events.publish(aio_pika.Message(encode(found)), routing_key="research.completed")

            async def ended() -> dict[str, Any] | None:
                (each,) = (await api.get(f"/v1/cycles/{accepted['cycle_id']}")).json()["keywords"]
                return dict(each) if each["state"] in ENDED else None

            told: dict[str, Any] = await eventually(ended, within=within)
            return told

    async def published(self) -> int:
        """Commands to publish an article."""
        connection = await aio_pika.connect(self.rabbitmq_url)
        async with connection, connection.channel() as channel:
            queue = await channel.get_queue("publisher-commands")
            return queue.declaration_result.message_count or 0


def research() -> Starlette:
    """Research of the n-th keyword has the id n."""

    async def one(request: Request) -> JSONResponse:
        keyword = list(PASSAGES)[UUID(request.path_params["research_id"]).int]
        sources = [
            {
                "n": n,
                "title": f"{keyword.capitalize()}, part {n}",
                "url": f"https://{n}.example.org/{n}",
                "passages": [{"heading": None, "text": text, "score": 1.0} for text in texts],
            }
            for n, texts in enumerate(PASSAGES[keyword], 1)
        ]
        return JSONResponse({"brand_slug": "acme", "sources": sources})

    return Starlette(routes=[Route("/v1/research/{research_id}", one)])


@pytest.fixture
async def world_with(
    real_model_url: str,
    broker_urls: dict[str, str],
    rabbitmq_url: str,
    make_database: Callable[[str], Awaitable[str]],
    tmp_path: Path,
) -> AsyncIterator[Callable[..., Awaitable[World]]]:
    """A factory of worlds.

    `seconds` is how long the gateway waits for an answer, and the rest are settings of the orchestrator.
    """
    async with AsyncExitStack() as cleanup:

        async def start(*, seconds: float, **settings: str) -> World:
            names = ("orchestrator", "gateway", "monitor")
            databases = {name: await make_database(name) for name in names}
            addresses = services.choose_addresses()
            own = {"orchestrator": settings}
            own["orchestrator"] |= {
                "RESEARCH_URL": await cleanup.enter_async_context(serving(research())),
                "MODEL_URL": f"{addresses.url('gateway')}/v1",
                "MODEL_TIMEOUT_SECONDS": f"{seconds + 30}",
                "WRITING_TIMEOUT_SECONDS": f"{2 * (seconds + 30)}",
                "RETRY_BASE_SECONDS": "0.3",
            }
            children = []
            cleanup.callback(lambda: services.stop(children))
            for name in names:
                environment = services.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=broker_urls.get(name),
                    database_url=databases[name],
                    service_key=KEY,
                    corpus=ROOT,
                )
                children.append(services.start(name, environment | own.get(name, {}), tmp_path))
            await asyncio.to_thread(services.wait_until_ready, children, addresses)
            world = World(addresses, databases, rabbitmq_url)
            account = {
                "url": real_model_url,
                "model": "local-model",
                "read_price": "0.15",
                "written_price": "0.60",
                "at_once": 1,
                "seconds": seconds,
            }
            async with world.client("gateway") as gateway:
                body = {"kind": "model", "settings": account}
                (await gateway.put("/v1/providers/model", json=body)).raise_for_status()
            return world

        yield start


def made_up(text: str, sources: str) -> set[str]:
    """Numbers, names and other words of the text whose beginnings stand nowhere in the sources; and addresses and markup."""
    known = [word.casefold() for word in re.findall(r"\w+", sources)]
    known += [str(_NUMBERS.index(word)) for word in known if word in _NUMBERS]
    said = [word.casefold() for word in re.findall(r"\w+", re.sub(r"\[\d+\]", "", text))]
    said += [word for word in said if word in _NUMBERS]
    begins = {word[:4] for word in known}
    strange = {
        word
        for word in said
        if (word not in known if word.isdigit() else len(word) > 3 and word[:4] not in begins | _JOINING)
    }
    return (strange - _JOINING) | set(re.findall(r"https?:|www\.|[<>]", text))


def test_what_is_made_up_is_told_from_what_is_not() -> None:
    source = "Cold brew steeps for twelve hours. Kyoto has drippers."
    assert made_up("Cold brew is steeped for 12 hours [1].", source) == set()
    assert made_up("Kyoto's dripper steeps in Osaka for 13 hours, see https://a.example", source) == {
        "osaka", "13", "https", "https:", "example",
    }  # fmt: skip


def compared(
    answers: Sequence[tuple[str, dict[str, Any]]], keyword: str
) -> list[SupportedSentence | RejectedSentence]:
    """What becomes of each sentence of its sections that is one, is clean and cites what it was shown."""
    sources = [
        ArticleSource(n=n, title=keyword, passages=tuple(SourcePassage(None, text, 1.0) for text in texts))
        for n, texts in enumerate(PASSAGES[keyword], 1)
    ]
    material = WritingMaterial.of(sources, max_characters=10_000)
    offered = frozenset(material.evidence)
    drafts = [
        sentence
        for step, answer in answers
        if step.startswith("model:section")
        for told in [json.loads(answer["content"])]
        for paragraph in told.get("paragraphs", [told])
        for sentence in paragraph["sentences"]
    ]
    verdicts = [
        material.judge(DraftSentence(text=text, passages=tuple(draft["passages"])), offered, ())
        for draft in drafts
        for text in sentences_of(draft["text"])
    ]
    said = re.compile("its passages? |stands elsewhere|copies more than|joins |mixes ")
    return [each for each in verdicts if isinstance(each, SupportedSentence) or said.search(each.problem)]


@pytest.mark.parametrize("keyword", PASSAGES)
async def test_what_it_makes_up_is_stored_nowhere_and_its_tokens_are_paid(
    keyword: str, world_with: Callable[..., Awaitable[World]]
) -> None:
    world = await world_with(seconds=600.0, MODEL_CONTEXT_TOKENS="2048")

    told = await world.write(keyword, PATIENCE)

    answers = await world.rows("select step, result from workflow_steps where step like 'model:%'")
    said = [(each["step"], json.loads(each["result"])) for each in answers]
    stored = await world.rows("select title, meta_description, body_markdown, key_points from content")
    for step, answer in said:
        print(step, answer["finish_reason"], answer["usage"], answer["content"])  # noqa: T201  (documents tell of it)
    print(keyword, told["state"], told["reason"], stored)  # noqa: T201

    # It ends where everybody can see it, and with what the documents say.
    match told["state"]:
        case "refused":
            assert told["reason"].startswith("unsupported_draft"), told
            assert stored == []
        case "needs_review":
            assert len(stored) == 1
        case _:
            assert told["state"] == "publishing", told
            assert len(stored) == 1
    assert await world.published() == (told["state"] == "publishing")

    # Its answers have their form at the first try, in so many tokens, and what it says is held against the passages.
    assert not [step for step, _ in said if step.endswith(".repair")]
    assert len(said) <= MOST_ANSWERS
    assert all(answer["usage"]["completion_tokens"] <= ANSWER_TOKENS for _, answer in said)
    verdicts = compared(said, keyword)
    assert verdicts
    for verdict in verdicts:
        print(verdict)  # noqa: T201

    # Neither what is published nor what waits for somebody has anything that no passage says.
    passages = "\n".join(text for texts in PASSAGES[keyword] for text in texts)
    for article in stored:
        text = "\n".join([*map(str, list(article.values())[:3]), *article["key_points"]])
        assert made_up(text, f"{passages} {keyword}") == set(), text

    # Each answer that was kept was paid for, once, by the tokens that the model counted.
    ledger = await world.ledger()
    assert len(ledger) == len(said) > 0
    usages = sorted((one["usage"]["tokens_read"], one["usage"]["tokens_written"]) for one in ledger)
    assert usages == sorted(
        (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) for _, answer in said
    )
    for one in ledger:
        read, written = one["usage"]["tokens_read"], one["usage"]["tokens_written"]
        assert 0 < one["spent"] == -(-(read * READ + written * WRITTEN) // 1_000_000) <= one["maximum"]
    assert await world.spent() == {"reserved": 0, "spent": sum(one["spent"] for one in ledger)}


async def test_what_it_cannot_read_is_a_dead_letter_that_says_what_to_do_and_costs_nothing(
    world_with: Callable[..., Awaitable[World]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSAGES, "cold brew", [["Cold brew keeps for a week in a closed bottle. " * 75] * 6])
    world = await world_with(seconds=600.0, MODEL_CONTEXT_TOKENS="16384")

    told = await world.write("cold brew", 120)

    assert told["state"] == "failed"
    assert "set MODEL_CONTEXT_TOKENS to what the model has" in told["reason"]
    assert await world.spent() == {"reserved": 0, "spent": 0}
    assert await world.rows("select 1 from content") == []


async def test_an_answer_that_comes_too_late_fails_the_attempt_and_counts_at_its_maximum(
    world_with: Callable[..., Awaitable[World]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSAGES, "cold brew", [list(texts) for texts in cold_brew.PAGES.values()])
    world = await world_with(seconds=1.0, MODEL_CONTEXT_TOKENS="4096", MAX_ATTEMPTS="2")

    told = await world.write("cold brew", 300)

    assert told["state"] == "failed"
    assert "provider.no_answer" in told["reason"]
    ledger = await world.ledger()
    assert {one["spent"] for one in ledger} == {one["maximum"] for one in ledger} != {0}
    assert await world.spent() == {"reserved": 0, "spent": sum(one["spent"] for one in ledger)}
    assert await world.rows("select 1 from content") == []
