"""A keyword with an article that a model writes, from the command to the API's answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
import pytest
import structlog
from pydantic import SecretStr

from chassis.http.client import UnavailableError
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import DeadLetterRecorded, ResearchCompleted
from messaging import Context, Database, Dependency
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.article_workflow.model_chat import ChatClient
from orchestrator.cycles import route
from tests.fixtures.models.judges import passed_exam
from tests.fixtures.models.scripted_model import ScriptedModel, source_documents
from writing import ArticleSource, SourcePassage
from writing.model.writer import ModelWriter

KEY = SecretStr("test-service-key-0123456789")


@dataclass
class Writing:
    """Of one article. Messages stay in the outbox until `sent` takes them."""

    api: httpx.AsyncClient
    database: Database
    message_of: Callable[..., DomainMessage[Any]]
    model: ScriptedModel
    cycle: str
    correlation_id: str
    fetched: list[UUID] = field(default_factory=list)
    """Whose research was read, as often as it was."""

    async def keyword(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api.get(self.cycle)).json()["keywords"][0]
        return found

    @property
    async def path(self) -> str:
        return f"/v1/workflows/{(await self.keyword())['content_id']}"

    async def seen(self) -> dict[str, Any]:
        answer = await self.api.get(await self.path)
        assert answer.status_code == 200, answer.text
        seen: dict[str, Any] = answer.json()
        return seen

    async def listed(self, state: str) -> list[str]:
        items = (await self.api.get("/v1/workflows", params={"state": state})).json()["items"]
        return [each["keyword"] for each in items]

    async def sent(self, wanted: str = "content.generate") -> list[DomainMessage[Any]]:
        """Messages of this type out of the outbox, which is emptied."""
        async with self.database.connection() as connection:
            rows = await connection.fetch("delete from outbox returning type, body, event_id")
        rows.sort(key=lambda row: row["event_id"])
        catalogue = self.database.catalogue
        return [
            catalogue[row["type"]].envelope.model_validate_json(row["body"])
            for row in rows
            if row["type"] == wanted
        ]

    async def hear(self, payload: Any) -> None:
        async with self.database.transaction() as tx:
            await route([self.message_of(payload, self.correlation_id)], tx)

    async def begin(self, command: DomainMessage[Any], *, attempt: int = 1) -> Any:
        """What the command leaves to be written."""

        async def fetch(research_id: UUID, _: str) -> tuple[ArticleSource, ...]:
            self.fetched.append(research_id)
            return tuple(
                ArticleSource(
                    n=each["n"],
                    title=each["title"],
                    path=each["path"],
                    passages=tuple(
                        SourcePassage(one["heading"], one["text"], 1.0) for one in each["passages"]
                    ),
                )
                for each in source_documents()
            )

        away = Dependency("model", outages=(UnavailableError,), shortest_pause=0.01)
        chat = ChatClient(self.model.url, KEY, model="default", timeout_seconds=20, dependency=away)
        workflow = ContentWorkflow(
            self.database, fetch, {"model": lambda desk: ModelWriter(chat, desk, 32_768, chat)}
        )
        context = Context(queue="orchestrator-commands", attempt=attempt, log=structlog.get_logger())
        return await workflow.generate(command, context)

    async def carry_out(self, command: DomainMessage[Any]) -> None:
        record = await self.begin(command)
        async with self.database.transaction() as tx:
            await write_records(tx, record)

    async def die(self, command: DomainMessage[Any]) -> None:
        """The command becomes a dead letter, and the router hears of it."""
        await self.hear(
            DeadLetterRecorded(
                dead_letter_id=new_event_id(),
                dead_event_id=command.event_id,
                queue="orchestrator-commands",
                message_type="content.generate",
                reason="unprocessable",
                detail="it cannot be used",
                brand_slug=command.payload.brand_slug,
                keyword=command.payload.keyword,
                content_id=command.payload.content_id,
            )
        )

    async def an_hour_passes(self, hours: float = 2) -> None:
        """As far as this article's workflow can tell."""
        async with self.database.connection() as connection:
            for table, columns in (
                ("keywords", ("moved_at",)),
                ("writings", ("changed_at", "begun_at", "first_begun_at", "in_hand_until")),
                ("workflow_steps", ("finished_at", "begun_at")),
                ("writing_waits", ("until",)),
            ):
                earlier = ", ".join(f"{name} = {name} - make_interval(hours => {hours})" for name in columns)
                await connection.execute(f"update {table} set {earlier}")


@pytest.fixture
def make_writing(
    api: httpx.AsyncClient,
    orchestrator_database: Database,
    message_of: Callable[..., DomainMessage[Any]],
    model: ScriptedModel,
) -> Callable[..., Awaitable[Writing]]:
    """A keyword of a brand that is researched; the command to write its article is in the outbox."""

    async def make(keyword: str = "cold brew", brand: str = "acme") -> Writing:
        async with orchestrator_database.transaction() as tx:
            # Past the API, which takes the writer only where one is configured.
            await tx.connection.execute(
                """
                insert into brands (slug, name, description, language, channels, target, writer, approval)
                values ($1, $1, '', 'en', '{feed}', 'site', 'model', 'nothing') on conflict do nothing
                """,
                brand,
            )
            await passed_exam(tx.connection, "default", model.model)
        answer = await api.post(f"/v1/brands/{brand}/research", json={"keywords": [keyword]})
        accepted = answer.json()
        writing = Writing(
            api,
            orchestrator_database,
            message_of,
            model,
            f"/v1/cycles/{accepted['cycle_id']}",
            accepted["correlation_id"],
        )
        await writing.sent()
        await writing.hear(ResearchCompleted(brand_slug=brand, research_id=new_event_id(), keyword=keyword))
        return writing

    return make


@pytest.fixture
async def writing(make_writing: Callable[..., Awaitable[Writing]]) -> Writing:
    return await make_writing()
