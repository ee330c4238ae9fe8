"""Other people's servers, two gateways before them, and workers that send posts there: what a scenario of outside effects plays with."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID, uuid4

import asyncpg
import httpx
from cryptography.fernet import Fernet

from chassis.testing import eventually
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import PostSend
from fakes import Fake, serving
from fakes.channels.bluesky import FakeBluesky
from fakes.channels.discord import FakeDiscord
from fakes.channels.instagram import FakeInstagram
from fakes.channels.linkedin import FakeLinkedIn
from fakes.channels.mastodon import FakeMastodon
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.threads import FakeThreads
from fakes.channels.webhook import FakeWebhook
from fakes.channels.x import FakeX
from fakes.sites.devto import FakeDevTo
from fakes.sites.ghost import FakeGhost
from fakes.sites.wordpress import FakeWordPress
from faults.playing.world import World
from faults.surroundings import processes
from faults.surroundings.processes import Worker
from messaging.testing import Broker

KEY: Final = "a-key-for-tests-only"
_PROGRAM: Final = "faults.workers.outside"
_UNLIMITED: Final = {"per_minute": 100_000, "together": 1000, "at_once": 100}
_HEARTBEAT: Final = "heartbeat=2"
"""So that what a stopped process holds goes to another after some seconds, not after a minute."""


@dataclass(frozen=True)
class Place:
    """Where posts and articles go: a channel or a kind of site, played here, and how its account is connected."""

    channel: str
    fake: Callable[[], Fake]
    credentials: Callable[[Any], Mapping[str, str]]
    settings: Callable[[Any], Mapping[str, Any]] = lambda fake: {"api_url": fake.url}


def _access(fake: Any) -> dict[str, str]:
    return {"access": fake.token}


PLACES: Final = (
    Place(
        "mastodon",
        FakeMastodon,
        lambda mastodon: {"token": mastodon.token},
        lambda mastodon: {"url": mastodon.url},
    ),
    Place(
        "bluesky",
        FakeBluesky,
        lambda bluesky: {"identifier": bluesky.handle, "password": bluesky.password},
        lambda bluesky: {"url": bluesky.url},
    ),
    Place(
        "webhook",
        FakeWebhook,
        lambda webhook: {"secret": webhook.secret},
        lambda webhook: {"url": f"{webhook.url}/hook"},
    ),
    Place(
        "x",
        lambda: FakeX(compares=False),
        _access,
        lambda x: {"api_url": x.url, "price": "0", "price_with_link": "0"},
    ),
    Place(
        "linkedin",
        lambda: FakeLinkedIn(compares=False),
        _access,
        lambda linkedin: {"api_url": linkedin.url, "organization": linkedin.author.rpartition(":")[2]},
    ),
    Place("instagram", lambda: FakeInstagram(polls=0), _access),
    Place("threads", lambda: FakeThreads(polls=0), _access),
    Place(
        "telegram",
        FakeTelegram,
        lambda telegram: {"token": telegram.token},
        lambda telegram: {"api_url": telegram.url, "chat": telegram.chat},
    ),
    Place(
        "discord",
        FakeDiscord,
        lambda discord: {"url": f"https://discord.com/api/webhooks/{discord.webhook}/{discord.token}"},
    ),
    Place("slack", FakeSlack, lambda slack: {"url": f"https://hooks.slack.com/services/{slack.path}"}),
    Place(
        "wordpress",
        FakeWordPress,
        lambda wordpress: {"user": wordpress.user, "password": wordpress.password},
        lambda wordpress: {"url": wordpress.url},
    ),
    Place("ghost", FakeGhost, lambda ghost: {"key": ghost.key}, lambda ghost: {"url": ghost.url}),
    Place("devto", FakeDevTo, lambda devto: {"key": devto.key}),
)
"""One line for each; a new one is judged with the others."""


@dataclass
class Post:
    """One that was asked for, and what became of it."""

    channel: str
    post_id: UUID
    event_id: UUID
    state: str = ""
    """Of its receipt; empty: there is none."""
    seen: Counter[str] = field(default_factory=Counter)
    """What the public would see of it, by kind."""
    fault: str = ""


class Outside:
    def __init__(self, world: World, fakes: dict[str, Fake], broker: Broker, urls: tuple[str, str]) -> None:
        self.world = world
        self.fakes = fakes
        self._broker = broker
        self._database_url, self._gateway_database_url = urls
        self.holds = world.folder / "holds"
        self.holds.mkdir()
        self._gateway_keys = Fernet.generate_key().decode()
        self.gateway: Worker
        self.worker: Worker
        self._started = 0

    @classmethod
    @asynccontextmanager
    async def playing(cls, world: World, channels: Sequence[str]) -> AsyncIterator[Self]:
        """With a gateway and a worker that are ready, and all accounts connected."""
        places = [place for place in PLACES if place.channel in channels]
        urls = await world.servers.create_database("social"), await world.servers.create_database("gateway")
        async with AsyncExitStack() as cleanup:
            fakes = {
                place.channel: await cleanup.enter_async_context(serving(place.fake())) for place in places
            }
            broker = await cleanup.enter_async_context(Broker.connected(world.rabbitmq_url))
            outside = cls(world, fakes, broker, urls)
            outside.gateway = await outside.started_gateway()
            async with outside.api() as api:
                for place in places:
                    await connect(api, place, fakes[place.channel])
            outside.worker = await outside.started_worker()
            yield outside

    def api(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=_url(self.gateway), headers={"X-Service-Key": KEY}, trust_env=False, timeout=20
        )

    async def started_gateway(self) -> Worker:
        return await self._start(
            "gateway",
            {
                "DATABASE_URL": self._gateway_database_url,
                "GATEWAY_KEYS": self._gateway_keys,
                "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
            },
        )

    async def started_worker(self) -> Worker:
        url = self.world.rabbitmq_url
        return await self._start(
            _PROGRAM,
            {
                "DATABASE_URL": self._database_url,
                "RABBITMQ_URL": f"{url}{'&' if '?' in url else '?'}{_HEARTBEAT}",
                "GATEWAY_URL": _url(self.gateway),
                "HOLDS": str(self.holds),
                "MUTATION": self.world.mutation,
                "RETRY_BASE_SECONDS": "0.2",
                "MAX_ATTEMPTS": "10",
            },
        )

    async def _start(self, program: str, environment: Mapping[str, str]) -> Worker:
        self._started += 1
        name = f"{program.rpartition('.')[2]}-{self._started}"
        values = {"SERVICE_KEY": KEY, "SHUTDOWN_GRACE_SECONDS": "5", **environment}
        worker = processes.start(name, program, values, self.world.folder, self.world.history)
        self.world.workers.append(worker)
        await worker.ready()
        return worker

    # -- posts -----------------------------------------------------------------------------------------------------------

    def posts(self) -> list[Post]:
        """One for each channel, not asked for yet."""
        return [Post(channel, uuid4(), new_event_id()) for channel in self.fakes]

    async def ask_for(self, posts: Sequence[Post]) -> None:
        for post in posts:
            payload = PostSend(
                brand_slug="acme", content_id=post.post_id, post_id=post.post_id, channel=post.channel
            )
            message: DomainMessage[PostSend] = DomainMessage(
                event_id=post.event_id,
                type="post.send",
                source="social",
                timestamp=datetime.now(UTC),
                correlation_id=str(post.event_id),
                payload=payload,
            )
            await self._broker.publish("commands", "social-commands", encode(message), type="post.send")

    def hold(self, post: Post, place: str) -> None:
        """Has whoever sends it stand still there."""
        order = self.holds / str(post.post_id)
        order.with_suffix(".new").write_text(place)
        order.with_suffix(".new").rename(order)

    def is_held(self, post: Post) -> bool:
        """Whether somebody stands still there, or did."""
        return self._has(post, "reached")

    def goes_on(self, post: Post) -> bool:
        """Whether whoever stood there is about to send it."""
        return self._has(post, "going")

    def has_passed(self, post: Post) -> bool:
        """Whether whoever stood there is through with that step, however it ended for him."""
        return self._has(post, "passed")

    def _has(self, post: Post, mark: str) -> bool:
        return (self.holds / f"{post.post_id}.{mark}").exists()

    def free(self, posts: Sequence[Post]) -> None:
        for post in posts:
            (self.holds / str(post.post_id)).unlink(missing_ok=True)
            (self.holds / f"{post.post_id}.free").touch()

    async def all_ended(self, posts: Sequence[Post]) -> bool:
        """Whether every one was handled, or is a dead letter."""
        events = [post.event_id for post in posts]
        count = await self._value(
            "select count(*) from processed_events where event_id = any ($1::uuid[])", events
        )
        return bool(count == len(events))

    async def all_begun_again(self, posts: Sequence[Post], fences: Mapping[UUID, int]) -> bool:
        """Whether somebody else has taken each of them up."""
        now = await self.fences(posts)
        return all(now.get(post.post_id, 0) > fences.get(post.post_id, 0) for post in posts)

    async def fences(self, posts: Sequence[Post]) -> dict[UUID, int]:
        connection = await asyncpg.connect(self._database_url)
        try:
            rows = await connection.fetch(
                "select receipt_id, fence from receipts where receipt_id = any ($1::uuid[])",
                [post.post_id for post in posts],
            )
        finally:
            await connection.close()
        return {UUID(int=row["receipt_id"].int): row["fence"] for row in rows}

    async def ended(self, posts: Sequence[Post], *, within: float = 60.0) -> None:
        await eventually(lambda: self.all_ended(posts), within=within)

    async def look_at(self, posts: Sequence[Post]) -> None:
        """What the other sides show of each post, and what its receipt says."""
        connection = await asyncpg.connect(self._database_url)
        try:
            for post in posts:
                mark = post.post_id.hex[:12]
                shown = [
                    each for each in self.fakes[post.channel].accepted if mark in f"{each.text} {each.more}"
                ]
                post.seen = Counter(each.kind for each in shown)
                post.state = (
                    await connection.fetchval(
                        "select state from receipts where receipt_id = $1", post.post_id
                    )
                    or ""
                )
        finally:
            await connection.close()

    async def _value(self, query: str, *arguments: Any) -> Any:
        connection = await asyncpg.connect(self._database_url)
        try:
            return await connection.fetchval(query, *arguments)
        finally:
            await connection.close()


async def connect(api: httpx.AsyncClient, place: Place, fake: Fake) -> None:
    body = {
        "kind": place.channel,
        "brands": ["acme"],
        "settings": {**_UNLIMITED, **place.settings(fake)},
        "credentials": dict(place.credentials(fake)),
    }
    answer = await api.put(f"/v1/accounts/{place.channel}", json=body)
    assert answer.is_success, f"{place.channel}: {answer.text}"
    checked = await api.post(f"/v1/accounts/{place.channel}/check")
    assert checked.json()["state"] in {"ok", "unchecked"}, f"{place.channel}: {checked.text}"


def _url(worker: Worker) -> str:
    return f"http://127.0.0.1:{worker.port}"
