"""Targets with fake sites, redelivery of commands until they are settled, and a clock that tests control."""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from chassis.http.client import UnavailableError
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentDelete, ContentPublish
from fakes import serving
from fakes.serving.fake import Fake
from gateway.accounts.kind import refusal
from gateway.accounts.kinds import KINDS
from gateway.accounts.requests import AccountRequest
from messaging import Context, Database, Dependency, RetryLater
from messaging.testing import write_records
from publisher.domain import Article
from publisher.handlers import Handlers
from publisher.orchestrator_client import OrchestratorClient
from publisher.short_links import ShortLinks
from publisher.targets import FilesTarget, TargetPublisher
from publisher.targets.edition import CoverPicture
from publisher.urls import SiteUrls
from receipts import AccountResponse, AccountSummary, Receipts, UnknownOutcome
from receipts.accounts import IDENTITY
from receipts.testing import DirectGateway

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNocFAAAAIkAOGrWWInAAAAAElFTkSuQmCC"
)
"""One pixel."""
KEY = SecretStr("test-service-key-0123456789")


async def picture_of(article: Article) -> CoverPicture:
    async def draw() -> bytes:
        return PNG + article.title.encode()

    name = hashlib.sha256(f"{article.content_id}{article.title}".encode()).hexdigest()[:16]
    return CoverPicture(f"cover-{name}", f"Cover: {article.title}", None, draw)


def _body(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Of the request to the gateway; as whom the account is to be connected stands in a header."""
    return {name: value for name, value in asked.items() if name != IDENTITY}


class CheckedDoor(DirectGateway):
    """What the gateway would not let through is in `refused`."""

    def __init__(self, kinds: Mapping[str, str], refused: list[str], *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._kinds = kinds
        self._refused = refused
        self.lost: int | None = None
        """After so many requests the answer to the next one is lost on its way."""
        self.asked = 0

    async def _ask(self, name: str, asked: Mapping[str, Any], seconds: float) -> AccountResponse:
        kind = KINDS[self._kinds[name]]
        found = refusal(kind.allowed_requests, AccountRequest.model_validate(_body(asked)).request(), None)
        if isinstance(found, str):
            self._refused.append(found)
        unknown = {key.lower() for key in asked.get("headers", {})} - kind.headers
        if unknown:
            self._refused.append(f"headers {unknown}")
        answer = await super()._ask(name, asked, seconds)
        self.asked += 1
        if self.lost == self.asked - 1:
            raise UnknownOutcome("the answer was lost")
        return answer


@dataclass
class Targets:
    """A brand with targets, by what is sent to the publisher and what it sends."""

    database: Database
    orchestrator: Any
    context: Context
    client: OrchestratorClient
    fakes: dict[str, Fake] = field(default_factory=dict)
    connected: list[AccountSummary] = field(default_factory=list)
    folder: Path | None = None
    refused: list[str] = field(default_factory=list)
    """What the gateway would not have let through."""
    waits: int = 0

    @property
    def door(self) -> CheckedDoor:
        return CheckedDoor(
            {each.name: each.kind for each in self.connected},
            self.refused,
            {name: fake.url for name, fake in self.fakes.items()},
            headers={name: getattr(fake, "headers", {}) for name, fake in self.fakes.items()},
            accounts=tuple(self.connected),
        )

    @property
    def handlers(self) -> Handlers:
        return self.through(self.door)

    def through(self, door: Any) -> Handlers:
        """Accounts are asked through this door; it is closed with the process."""
        urls = SiteUrls.under("https://example.org/news")
        bringing = TargetPublisher(
            self.database,
            self.client,
            door,
            Receipts(self.database, door, margin_seconds=0.5),
            FilesTarget(self.folder),
            picture_of,
            ShortLinks(urls),
        )
        return Handlers(self.database, self.client, urls, bringing)

    def command(self, content_id: UUID, target: str, **more: Any) -> DomainMessage[ContentPublish]:
        return DomainMessage[ContentPublish](
            event_id=new_event_id(),
            type="content.publish",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id="chain-1",
            payload=ContentPublish(brand_slug="daily-grind", content_id=content_id, target=target, **more),
        )

    async def once(
        self,
        command: DomainMessage[ContentPublish],
        handlers: Handlers | None = None,
        *,
        loses: Exception | None = None,
    ) -> list[Any]:
        """One attempt: the payloads that it sent, with their types. With `loses`, that is raised, and what it wrote down last is lost."""
        record = await (handlers or self.handlers).content_publish(command, self.context)
        async with self.database.transaction() as tx:
            await write_records(tx, record)
            if loses is not None:
                raise loses
            return [json.loads(row.body) for row in tx.outgoing]

    async def publish(
        self, content_id: UUID, target: str, *, door: Any = None, **more: Any
    ) -> dict[str, Any]:
        """Comes again, as a message does, until it is settled; returns what was answered."""
        command, handlers = self.command(content_id, target, **more), self.through(door or self.door)
        for _ in range(12):
            try:
                sent = await self.once(command, handlers)
            except RetryLater:
                self.waits += 1
                await self.let_time_pass()
            else:
                return {"type": sent[0]["type"], **sent[0]["payload"]} if sent else {}
        raise AssertionError("it is never settled")

    async def delete(self, content_id: UUID) -> None:
        command = DomainMessage[ContentDelete](
            event_id=new_event_id(),
            type="content.delete",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            payload=ContentDelete(brand_slug="daily-grind", content_id=content_id),
        )
        record = await self.handlers.content_delete(command, self.context)
        async with self.database.transaction() as tx:
            await record(tx)

    async def let_time_pass(self) -> None:
        """An hour, by what the database remembers."""
        async with self.database.connection() as connection:
            await connection.execute(
                """
                update receipts set held_until = held_until - interval '1 hour', not_before = not_before - interval '1 hour',
                                    quiet_since = quiet_since - interval '1 hour'
                """
            )
            await connection.execute(
                "update publications set claimed_until = claimed_until - interval '1 hour'"
            )

    def change(self, content_id: UUID, **changes: Any) -> None:
        document = self.orchestrator.documents[content_id]
        self.orchestrator.documents[content_id] = document | changes


@pytest.fixture
async def targets(
    database: Database, orchestrator: Any, context: Context, tmp_path: Path
) -> AsyncIterator[Targets]:
    async with OrchestratorClient(
        orchestrator.url,
        KEY,
        timeout_seconds=60,
        max_bytes=100_000,
        orchestrator=Dependency("orchestrator", outages=(UnavailableError,)),
    ) as client:
        made = Targets(database, orchestrator, context, client, folder=tmp_path)
        yield made
        assert made.refused == []


@pytest.fixture
async def connect(targets: Targets) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Has a fake answer, and the brand have an account there, called like its kind unless said otherwise."""
    async with AsyncExitStack() as stack:

        async def connected(fake: Fake, kind: str, name: str | None = None) -> Fake:
            await stack.enter_async_context(serving(fake))
            targets.fakes[name or kind] = fake
            targets.connected.append(AccountSummary(name or kind, kind, label=kind, state="ok"))
            return fake

        yield connected
