"""Articles that wait for a person by the brand's settings, even with good measures."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import MIN_SOURCES
from messaging import Context, Database
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.article_workflow.approval import EVERYTHING, FIRST, OF_REQUEST
from orchestrator.article_workflow.store import find_content
from orchestrator.brands import ApprovalPolicy
from orchestrator.brands.domain import approval_of
from tests.fixtures.kilns import SOURCES
from writing import Article, ArticleSource
from writing.extractive.writer import ExtractiveWriter

CONTEXT = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())


@pytest.mark.parametrize(
    ("wish", "writer", "target", "is_approved"),
    [
        (None, "extractive", "site", ApprovalPolicy.NOTHING),
        (None, "model", "site", ApprovalPolicy.EVERYTHING),
        (None, "extractive", "wordpress", ApprovalPolicy.EVERYTHING),
        ("nothing", "model", "wordpress", ApprovalPolicy.NOTHING),
        ("first", "extractive", "site", ApprovalPolicy.FIRST),
    ],
)
def test_what_a_model_writes_or_what_leaves_the_site_is_seen_first_unless_the_brand_says_otherwise(
    wish: str | None, writer: str, target: str, is_approved: ApprovalPolicy
) -> None:
    assert approval_of(wish, writer=writer, targets=(target,)) is is_approved


async def test_a_brand_says_what_it_wants_to_see(api: httpx.AsyncClient) -> None:
    async def approval(**wish: Any) -> str:
        return (await api.put("/v1/brands/acme", json={"name": "Acme", **wish})).json()["approval"]

    assert await approval() == "nothing"
    assert await approval(approval="first") == "first"
    assert await approval() == "nothing"
    unknown = await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "some"})
    assert unknown.status_code == 422


class Unchanging(ExtractiveWriter):
    """Writes what it wrote about kilns, on any keyword, in other words each time."""

    def __init__(self) -> None:
        super().__init__(MIN_SOURCES)
        self._times = 0

    async def write(self, *, keyword: str, sources: Any, brand_name: str, language: str) -> Article:
        self._times += 1
        article = await super().write(
            keyword="kiln", sources=sources, brand_name=brand_name, language=language
        )
        return replace(
            article,
            body_markdown=article.body_markdown.replace("e", "e" * self._times),
            slug=f"kiln-{self._times}",
        )


async def test_the_first_article_on_a_keyword_is_seen_and_what_follows_one_that_was_let_out_is_not(
    api: httpx.AsyncClient, orchestrator_database: Database, message_of: Callable[..., DomainMessage[Any]]
) -> None:
    async def research(*_: Any) -> tuple[ArticleSource, ...]:
        return SOURCES

    writer = Unchanging()
    workflow = ContentWorkflow(orchestrator_database, research, {"extractive": lambda _: writer})

    async def write(keyword: str) -> tuple[str, tuple[str, ...]]:
        """The id of the new article, and why it waits because its brand wants to see it."""
        content_id = new_event_id()
        command = ContentGenerate(
            brand_slug="acme", content_id=content_id, research_id=new_event_id(), keyword=keyword
        )
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, await workflow.generate(message_of(command, "chain"), CONTEXT))
        async with orchestrator_database.connection() as connection:
            stored = await find_content(connection, content_id)
        assert stored is not None
        return str(content_id), tuple(why for why in stored.held_for if why in {FIRST, EVERYTHING})

    await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "first"})
    first, why = await write("Kiln")
    assert why == (FIRST,)
    assert (await write("kiln"))[1] == (FIRST,)
    (await api.post(f"/v1/drafts/{first}/approve", json={"version": 1})).raise_for_status()
    assert (await write("KILN"))[1] == ()
    assert (await write("glaze"))[1] == (FIRST,)

    await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "everything"})
    assert (await write("kiln"))[1] == (EVERYTHING,)
    await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "nothing"})
    assert (await write("slip"))[1] == ()


async def test_a_request_may_ask_for_a_person_where_its_brand_does_not(
    api: httpx.AsyncClient, orchestrator_database: Database, message_of: Callable[..., DomainMessage[Any]]
) -> None:
    async def research(*_: Any) -> tuple[ArticleSource, ...]:
        return SOURCES

    writer = Unchanging()
    workflow = ContentWorkflow(orchestrator_database, research, {"extractive": lambda _: writer})

    async def held_for(keyword: str, **asked: Any) -> tuple[str, ...]:
        accepted = await api.post("/v1/brands/acme/research", json={"keywords": [keyword], **asked})
        accepted.raise_for_status()
        content_id = new_event_id()
        command = ContentGenerate(
            brand_slug="acme", content_id=content_id, research_id=new_event_id(), keyword=keyword
        )
        async with orchestrator_database.transaction() as tx:
            await tx.connection.execute(
                "update keywords set content_id = $1 where cycle_id = $2::uuid",
                content_id,
                accepted.json()["cycle_id"],
            )
            await write_records(tx, await workflow.generate(message_of(command, "chain"), CONTEXT))
        async with orchestrator_database.connection() as connection:
            stored = await find_content(connection, content_id)
        assert stored is not None
        return tuple(why for why in stored.held_for if why in {FIRST, EVERYTHING, OF_REQUEST})

    await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "nothing"})
    assert await held_for("kiln") == ()
    assert await held_for("glaze", approval="everything") == (OF_REQUEST,)
    await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "everything"})
    assert await held_for("slip", approval="everything") == (EVERYTHING,)
    # It can ask for more care alone, never for less.
    refused = await api.post("/v1/brands/acme/research", json={"keywords": ["bowl"], "approval": "nothing"})
    assert refused.status_code == 422


async def test_the_same_request_with_another_approval_is_another_request(api: httpx.AsyncClient) -> None:
    await api.put("/v1/brands/acme", json={"name": "Acme"})
    asked = {"url": "/v1/brands/acme/research", "headers": {"Idempotency-Key": "once"}}
    first = await api.post(**asked, json={"keywords": ["kiln"]})
    assert (await api.post(**asked, json={"keywords": ["kiln"]})).json() == first.json()
    other = await api.post(**asked, json={"keywords": ["kiln"], "approval": "everything"})
    assert other.is_client_error
