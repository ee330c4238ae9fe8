"""The harness of scenarios about notifications: two monitors, the gateway and recording channels."""

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import httpx
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from chassis.database.pool import Connections
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from fakes import AcceptedItem, Fake, serving
from fakes.channels.discord import FakeDiscord
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.webhook import FakeWebhook
from faults.playing.mail_server import MailServer, taking_mail
from faults.playing.places import KEY
from faults.playing.world import FaultHarness
from faults.surroundings import processes
from faults.surroundings.processes import WorkerProcess
from faults.workers.notifying import HOLDS, SPARED
from messaging import Database, DeadLetter, Reason
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor import dead_letters

ALIKE: Final = 100
"""Dead letters of a matter."""
GROUP_SECONDS: Final = 1
CALM, MUTE = SPARED, "mute"
"""A route on which nothing fails, and one that answers nobody until the last matter is there."""
_MAIL_RESET: Final = 0.2
_DONE_ALL_THE_SAME: Final = frozenset({"reset_after", "cut_after", "error_after", "hang_after"})


def silence_of(route: str) -> str:
    """Words of every message that reports a silent route."""
    return f"do not arrive on route {route}"


@dataclass
class RouteDeliveries:
    """The notifications that a route received."""

    unknown: int = 0
    """Calls that did what they were to do and were not answered well, and kills, which may have struck in the midst of one."""
    received: list[tuple[float, str, str]] = field(default_factory=list)
    """When, in seconds since 1970; what tells a message from another, if the channel has that; all of its words."""

    def of(self, matter: str) -> list[float]:
        """Times at which a matter was notified."""
        return [moment for moment, _, words in self.received if matter in words]


@dataclass(frozen=True)
class NotificationCounts:
    matters: Mapping[str, float]
    """When each began."""
    routes: Mapping[str, RouteDeliveries]
    kills: Counter[str]
    struck: int
    calls: int
    counts: Mapping[str, int | None]
    """How many dead letters the first message about a matter on the calm route told of."""
    left_lying: int
    """Messages of the calm route that a killed process had in hand."""


class MonitorReplicas:
    """Two replicas of the monitor, a gateway, and channels that record what they receive."""

    def __init__(
        self, world: FaultHarness, url: str, environment: Mapping[str, str], mail: MailServer
    ) -> None:
        self.fakes: dict[str, Fake] = {}
        self._world = world
        self._url = url
        self._environment = environment
        self._mail = mail
        self._holds = world.folder / "holds"
        self._holds.mkdir()
        self._replicas: list[WorkerProcess] = []
        self._matters: dict[str, float] = {}
        self._received: dict[str, list[tuple[float, str, str]]] = {}
        self._before: Counter[str] = Counter()

    def listen(self, name: str, fake: Fake) -> None:
        received = self._received[name] = []
        accept = fake.accept

        def noted(accepted: AcceptedItem) -> None:
            accept(accepted)
            identity = accepted.id if isinstance(fake, FakeWebhook) else ""
            received.append((time.time(), identity, f"{accepted.text} {json.dumps(accepted.more)}"))

        fake.accept = noted  # type: ignore[method-assign]
        self.fakes[name] = fake

    async def start(self) -> None:
        self._before = Counter({name: len(fake.requests) for name, fake in self.fakes.items()})
        self._replicas = [await self._started() for _ in range(2)]
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self._replicas[0].port}",
            headers={"X-Service-Key": KEY},
            trust_env=False,
            timeout=20,
        ) as api:
            for name in (*self.fakes, "mail"):
                route = {"account": name, "group_seconds": GROUP_SECONDS, "kinds": ["dead_letters"]}
                to = {"to": ["ops@example.org"]} if name == "mail" else {}
                (await api.put(f"/v1/notifications/routes/{name}", json=route | to)).raise_for_status()

    async def _started(self) -> WorkerProcess:
        name = f"monitor-{len(self._world.workers)}"
        return await _started(
            self._world, name, "faults.workers.notifying", {**self._environment, HOLDS: str(self._holds)}
        )

    def order(self, place: str) -> None:
        """The next process that comes there kills itself."""
        (self._holds / f"kill.{place}").touch()

    async def revive(self) -> None:
        for place, replica in enumerate(self._replicas):
            if not replica.running:
                await replica.struck()
                self._replicas[place] = await self._started()

    async def begin(self, matter: str) -> None:
        """So many messages die of it at once."""
        connections = Connections(self._url, name="dying", size=1)
        await connections.open()
        database = Database(
            connections,
            Relay(connections, Publisher(self._world.rabbitmq_url, name="none")),
            "monitor",
            CATALOGUE,
        )
        # Each is told of in the log of whoever records it, which is us.
        with capture_logs():
            async with database.transaction() as tx:
                await dead_letters.record([_death(matter) for _ in range(ALIKE)], tx)
        self._matters[matter] = time.time()
        await connections.close()

    async def all_told(self) -> bool:
        await self.revive()
        told = self._told()
        orders = [*self._holds.glob("kill.*")]
        return not orders and all(each.of(matter) for each in told.values() for matter in self._matters)

    async def silence_told(self) -> bool:
        """Whether every other route has heard that nothing arrives on the mute one."""
        await self.revive()
        told = self._told()
        return all(each.of(silence_of(MUTE)) for name, each in told.items() if name != MUTE)

    def _kills(self) -> list[str]:
        killed = self._holds / "killed"
        return [line.split()[0] for line in killed.read_text().splitlines()] if killed.exists() else []

    def _told(self) -> dict[str, RouteDeliveries]:
        kills = len(self._kills())
        told = {
            name: RouteDeliveries(
                kills + sum(each.fired for each in fake.faults.planned if each.kind in _DONE_ALL_THE_SAME),
                self._received[name],
            )
            for name, fake in self.fakes.items()
        }
        return told | {"mail": RouteDeliveries(kills + self._mail.struck["reset_after"], self._mail.taken)}

    async def seen(self) -> NotificationCounts:
        connection = await asyncpg.connect(self._url)
        left_lying = await connection.fetchval(
            "select coalesce(sum(attempts - 1), 0) from notification_messages where route = $1", CALM
        )
        await connection.close()
        struck = sum(each.fired for fake in self.fakes.values() for each in fake.faults.planned)
        calls = sum(len(fake.requests) - self._before[name] for name, fake in self.fakes.items())
        return NotificationCounts(
            matters=self._matters,
            routes=self._told(),
            kills=Counter(self._kills()),
            struck=struck + self._mail.struck.total(),
            calls=calls + len(self._mail.taken) + self._mail.struck["reset_before"],
            counts={matter: self._count(matter) for matter in self._matters},
            left_lying=left_lying,
        )

    def _count(self, matter: str) -> int | None:
        items = [
            item
            for each in self.fakes[CALM].accepted
            for item in each.more["items"]
            if matter in item["title"]
        ]
        return items[0]["count"] if items else None


def _death(matter: str) -> DomainMessage[DeadLetter]:
    now = datetime.now(UTC)
    identity = new_event_id()
    body = {
        "event_id": str(identity),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": now.isoformat(),
        "correlation_id": str(identity),
        "payload": {"brand_slug": "acme", "content_id": str(identity), "target": "site"},
    }
    letter = DeadLetter(
        dead_event_id=identity,
        queue="publisher-commands",
        message_type="content.publish",
        source="orchestrator",
        correlation_id=str(identity),
        body=json.dumps(body).encode(),
        headers={"attempt": 5},
        reason=Reason.EXHAUSTED,
        exception_type=matter,
        detail="gone",
        stack="",
        attempts=5,
        service="publisher",
        first_failed_at=now,
        failed_at=now,
        replay_of=None,
    )
    return DomainMessage[DeadLetter](
        event_id=new_event_id(),
        type="dead_letter.received",
        source="orchestrator",
        timestamp=now,
        correlation_id=str(identity),
        payload=letter,
    )


_UNLIMITED: Final = {"per_minute": 100_000, "together": 1000, "at_once": 100}
_CHANNELS: Final[Mapping[str, Callable[[], Fake]]] = {
    CALM: FakeWebhook,
    MUTE: FakeWebhook,
    "hook": FakeWebhook,
    "chat": FakeTelegram,
    "slack": FakeSlack,
    "discord": FakeDiscord,
}


def _account(fake: Any) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Kind, settings and credentials."""
    match fake:
        case FakeTelegram():
            return "telegram", {"api_url": fake.url, "chat": fake.chat}, {"token": fake.token}
        case FakeSlack():
            return "slack", {"api_url": fake.url}, {"url": f"https://hooks.slack.com/services/{fake.path}"}
        case FakeDiscord():
            address = f"https://discord.com/api/webhooks/{fake.webhook}/{fake.token}"
            return "discord", {"api_url": fake.url}, {"url": address}
        case _:
            return "webhook", {"url": f"{fake.url}/hook"}, {"secret": fake.secret}


@asynccontextmanager
async def monitors_playing(world: FaultHarness) -> AsyncIterator[MonitorReplicas]:
    url, gateway_url = [await world.servers.create_database(name) for name in ("monitor", "gateway")]
    async with AsyncExitStack() as cleanup:
        mail = await cleanup.enter_async_context(taking_mail(world.rng, _MAIL_RESET))
        gateway = await _started(
            world,
            "gateway",
            "gateway",
            {
                "DATABASE_URL": gateway_url,
                "GATEWAY_KEYS": Fernet.generate_key().decode(),
                "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
            },
        )
        address = f"http://127.0.0.1:{gateway.port}"
        environment = {
            "DATABASE_URL": url,
            "RABBITMQ_URL": world.rabbitmq_url,
            "GATEWAY_URL": address,
            "MUTATION": world.mutation,
        }
        play = MonitorReplicas(world, url, environment, mail)
        async with httpx.AsyncClient(
            base_url=address, headers={"X-Service-Key": KEY}, trust_env=False, timeout=20
        ) as api:
            for name, make in _CHANNELS.items():
                fake = await cleanup.enter_async_context(serving(make()))
                play.listen(name, fake)
                await _connect(api, name, *_account(fake))
            settings = {
                "host": "127.0.0.1",
                "port": mail.port,
                "security": "plain",
                "sender": "Acme <ops@acme.example>",
            }
            await _connect(api, "mail", "smtp", settings, {})
        await play.start()
        yield play


async def _connect(
    api: httpx.AsyncClient, name: str, kind: str, settings: Mapping[str, Any], credentials: Mapping[str, str]
) -> None:
    body = {"kind": kind, "brands": ["*"], "settings": {**_UNLIMITED, **settings}, "credentials": credentials}
    answer = await api.put(f"/v1/accounts/{name}", json=body)
    assert answer.is_success, f"{name}: {answer.text}"


async def _started(
    world: FaultHarness, name: str, program: str, environment: Mapping[str, str]
) -> WorkerProcess:
    values = {"SERVICE_KEY": KEY, "SHUTDOWN_GRACE_SECONDS": "5", **environment}
    worker = processes.start(name, program, values, world.folder, world.history)
    world.workers.append(worker)
    await worker.ready()
    return worker
