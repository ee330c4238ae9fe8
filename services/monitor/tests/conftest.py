"""Fixtures of the monitor's tests: its database, dead letters in it, its API over real HTTP, and a gateway that records its requests."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.client import Peer
from chassis.http.server import server
from chassis.testing import serving
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from messaging import Database, DeadLetter, Reason
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor.dead_letters import DeadLetterOperations, handlers
from monitor.http_api import create_api
from monitor.notifications import (
    ActivityClient,
    NotificationPoller,
    NotificationSource,
    NotifierGateway,
    PeerClient,
)
from monitor.notifications.domain import NotificationRoute
from monitor.notifications.notifier import Notifier
from monitor.notifications.sources.brands import brand_conditions
from monitor.notifications.sources.gateway import account_conditions, budget_conditions
from monitor.notifications.sources.own_database import dead_letter_conditions, failing_route_conditions
from monitor.notifications.sources.receipts import receipt_conditions
from monitor.notifications.store import put_route
from monitor.notifications.summary import SummaryComposer

KEY = "test-service-key-0123456789"
STACK = (
    'Traceback (most recent call last):\n  File "/app/site-packages/messaging/runner.py", line 7, in run\n    x()\n'
    '  File "/app/publisher/handlers.py", line 41, in content_publish\n    raise Gone\nGone: 410\n'
)


def envelope(event_id: UUID | None = None, **changes: Any) -> bytes:
    document = {
        "event_id": str(event_id or new_event_id()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "chain-1",
        "payload": {"brand_slug": "daily-grind", "content_id": str(new_event_id()), "target": "site"},
    }
    return json.dumps(document | changes).encode()


def death(body: bytes | None = None, **changes: Any) -> DomainMessage[DeadLetter]:
    """A dead letter as the runtime hands it over."""
    body = envelope() if body is None else body
    try:
        head = json.loads(body)
    except ValueError:
        head = {}
    facts = {
        "dead_event_id": head.get("event_id"),
        "queue": "publisher-commands",
        "message_type": head.get("type"),
        "source": head.get("source"),
        "correlation_id": head.get("correlation_id"),
        "body": body,
        "headers": {"attempt": 5},
        "reason": Reason.EXHAUSTED if head else Reason.NOT_AN_ENVELOPE,
        "exception_type": "Gone",
        "detail": "410 from https://user:secret@site/",
        "stack": STACK,
        "attempts": 5,
        "service": "publisher",
        "first_failed_at": datetime(2026, 1, 2, 3, 5, tzinfo=UTC),
        "failed_at": datetime(2026, 1, 2, 3, 9, tzinfo=UTC),
        "replay_of": None,
    }
    return DomainMessage[DeadLetter](
        event_id=new_event_id(),
        type="dead_letter.received",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id=head.get("correlation_id"),
        payload=DeadLetter.model_validate(facts | changes),
    )


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    """The monitor's migrated database. No broker is connected, so what is sent stays in the outbox to be seen."""
    connections = Connections(await make_database("monitor"), name="monitor test", size=8)
    await connections.open()
    try:
        yield Database(
            connections,
            Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none")),
            "monitor",
            CATALOGUE,
        )
    finally:
        await connections.close()


Record = Callable[..., Awaitable[list[UUID]]]


@pytest.fixture
def record(database: Database) -> Record:
    """Records deaths in one batch; returns their ids."""

    async def record(*deaths: DomainMessage[DeadLetter]) -> list[UUID]:
        async with database.transaction() as tx:
            await handlers.record(deaths, tx)
        return [one.event_id for one in deaths]

    return record


@pytest.fixture
async def origin(database: Database) -> AsyncIterator[str]:
    """Address of the API, served over real HTTP."""
    app = create_api(database, DeadLetterOperations(database), ServiceKey(SecretStr(KEY)))
    serving = server(app, "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(60):
        while not serving.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
            await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    serving.should_exit = True
    await task


@pytest.fixture
async def api(origin: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
    ) as client:
        yield client


@pytest.fixture
def new_death() -> Callable[..., DomainMessage[DeadLetter]]:
    return death


@pytest.fixture
def new_envelope() -> Callable[..., bytes]:
    return envelope


SERVICE_KEY = SecretStr(KEY)


def account(name: str, kind: str, brands: Sequence[str] = ("*",), **known: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "label": None,
        "state": "ok",
        "detail": None,
        "facts": {},
        "scopes": [],
        "expires_at": None,
        "settings": {},
    }
    return plain | {"name": name, "kind": kind, "brands": list(brands)} | known


def taken(**told: Any) -> Response:
    """The gateway's word of what the account's own side has answered."""
    plain = {"status": 200, "headers": {}, "json": {"ok": True}, "text": None, "truncated": False}
    return JSONResponse(plain | told)


def refused(status: int, kind: str, detail: str, **told: Any) -> Response:
    """The gateway's own refusal."""
    problem = {"type": kind, "title": kind, "status": status, "detail": detail}
    return JSONResponse(problem | told, status, media_type="application/problem+json")


@dataclass
class Outside:
    """The gateway and the orchestrator, as their documents have them; `answers` by account says what becomes of a message."""

    url: str = ""
    accounts: list[dict[str, Any]] = field(default_factory=list)
    spend: dict[str, Any] = field(
        default_factory=lambda: {"today": "2026-03-02", "scopes": [], "providers": []}
    )
    activity: list[dict[str, Any]] = field(default_factory=list)
    receipts: list[dict[str, Any]] = field(default_factory=list)
    paused: list[dict[str, Any]] | None = field(default_factory=list)
    """None: of a version that does not tell."""
    answers: dict[str, Callable[[], Awaitable[Response]]] = field(default_factory=dict)
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    asked: list[str] = field(default_factory=list)
    away: bool = False

    async def answer(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.url.path}")
        path = request.url.path
        if self.away or (self.paused is None and path == "/v1/backbone/pauses"):
            return Response(status_code=503 if self.away else 404)
        told = {
            "/v1/accounts": {"items": self.accounts},
            "/v1/spend": self.spend,
            "/v1/receipts": {"items": self.receipts, "next": None},
            "/v1/backbone/pauses": {"queues": self.paused},
        }
        if path in told:
            return JSONResponse(told[path])
        if path == "/v1/activity":
            recently = "since" in request.query_params
            items = [each | ({} if recently else {"recently": None}) for each in self.activity]
            return JSONResponse({"items": items, "next": None})
        name = request.path_params["name"]
        body = await request.json()
        answer = await self.answers[name]() if name in self.answers else taken()
        if answer.status_code == 200 and json.loads(bytes(answer.body)).get("status", 200) == 200:
            self.sent[name].append(body)
        return answer


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    stand_in = Outside()
    places = (
        "/v1/accounts",
        "/v1/spend",
        "/v1/activity",
        "/v1/receipts",
        "/v1/backbone/pauses",
        "/health/ready",
    )
    app = Starlette(
        routes=[
            *(Path(place, stand_in.answer) for place in places),
            Path("/v1/accounts/{name}/{what}", stand_in.answer, methods=["POST"]),
        ]
    )
    async with serving(app) as origin:
        stand_in.url = origin
        yield stand_in


@dataclass
class Office:
    """A replica's loops, turned by hand."""

    database: Database
    outside: Outside
    notifier: Notifier
    poller: NotificationPoller
    sources: list[NotificationSource]

    async def set_route(self, name: str, **how: Any) -> None:
        route = NotificationRoute(name, how.pop("account", name), **{"group_seconds": 0} | how)
        due = None if route.summary is None else how.get("due")
        async with self.database.transaction() as tx:
            if route.summary is not None and due is None:
                due = await tx.connection.fetchval("select clock_timestamp() - interval '1 minute'")
            await put_route(tx.connection, route, due)

    async def look(self) -> None:
        """All sources, whether it is time or not."""
        await self.run("update notification_sources set look_at = now()")
        for source in self.sources:
            await self.poller.poll(source)

    async def tell(self) -> None:
        """Composes what is due, and sends it to the end."""
        await self.notifier.tick()
        while self.notifier._sending:
            await asyncio.wait(list(self.notifier._sending.values()))
            await self.notifier._start_sending()

    async def turn(self) -> None:
        await self.look()
        await self.tell()

    async def run(self, sql: str, *values: Any) -> None:
        async with self.database.transaction() as tx:
            await tx.connection.execute(sql, *values)

    async def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        async with self.database.connection() as connection:
            return [dict(row) for row in await connection.fetch(sql, *values)]


@pytest.fixture
async def make_office(database: Database, outside: Outside) -> AsyncIterator[Callable[[], Office]]:
    """Another replica, at each call."""
    clients: list[PeerClient] = []

    def make() -> Office:
        def peer(name: str) -> Peer:
            return Peer(name, outside.url, "", SERVICE_KEY)

        gateway, orchestrator = NotifierGateway(peer("the gateway")), ActivityClient(peer("the orchestrator"))
        receipts = PeerClient(peer("social"))
        clients.extend((gateway, orchestrator, receipts))
        often = timedelta(minutes=1)
        sources = [
            NotificationSource("dead_letters", often, partial(dead_letter_conditions, database)),
            NotificationSource("accounts", often, partial(account_conditions, gateway), "the gateway"),
            NotificationSource("budgets", often, partial(budget_conditions, gateway), "the gateway"),
            NotificationSource("brands", often, partial(brand_conditions, orchestrator), "the orchestrator"),
            NotificationSource("receipts of social", often, partial(receipt_conditions, receipts), "social"),
            NotificationSource("routes", often, partial(failing_route_conditions, database)),
        ]
        notifier = Notifier(
            database, gateway, SummaryComposer(database, orchestrator, gateway, receipts=[receipts])
        )
        return Office(database, outside, notifier, NotificationPoller(database), sources)

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
def office(make_office: Callable[[], Office], outside: Outside) -> Office:
    outside.accounts = [
        account("ops", "webhook"),
        account("pager", "webhook"),
        account("chat", "telegram", settings={"chat": "-1001", "also": ["@ops"]}),
        account("acme-hook", "webhook", ("acme",)),
        account("mail", "smtp"),
    ]
    return make_office()


@pytest.fixture
async def desk(database: Database, office: Office, outside: Outside) -> AsyncIterator[httpx.AsyncClient]:
    """The API, with a gateway behind it."""
    gateway = NotifierGateway(Peer("the gateway", outside.url, "GATEWAY_URL", SERVICE_KEY))
    app = create_api(
        database, DeadLetterOperations(database), ServiceKey(SERVICE_KEY), gateway, office.notifier
    )
    headers = {"X-Service-Key": KEY}
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers=headers, trust_env=False, timeout=60) as client,
    ):
        yield client
    await gateway.aclose()


@pytest.fixture
def new_account() -> Callable[..., dict[str, Any]]:
    return account


@pytest.fixture
def gateway_says() -> Callable[..., Response]:
    return taken


@pytest.fixture
def gateway_refuses() -> Callable[..., Response]:
    return refused
