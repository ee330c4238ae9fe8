"""The harness of scenarios about outside effects: outside servers, a gateway, and a worker that sends to them."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Final, Self
from uuid import UUID, uuid4

import asyncpg
import httpx
from cryptography.fernet import Fernet
from dulwich.repo import Repo

from chassis.testing import eventually
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ContentPublish, PostSend
from fakes import Fake, serving
from fakes.found import PLACES
from fakes.serving.cases import EffectPlace
from faults.judging.effects import EffectRecord
from faults.playing.orders import FaultsByAddress
from faults.playing.places import FILES, KEY, connect
from faults.playing.world import FaultHarness
from faults.surroundings import processes
from faults.surroundings.processes import WorkerProcess
from faults.workers.outside import account_of, mark_of
from messaging.testing import Broker

AT_ONCE: Final = 96
"""Posts that a worker has in hand at a time."""
_PROGRAM: Final = "faults.workers.outside"
_HEARTBEAT: Final = "heartbeat=2"
"""So that what a stopped process holds goes to another after some seconds, not after a minute."""
_FILES_SETTINGS: Final = '{"kind": "files", "git": true, "address": "https://example.org/{slug}/"}'
_ARTICLES: Final = frozenset({FILES, *(place.channel for place in PLACES if place.takes_articles)})
_MARK: Final = re.compile(r"(?<=Pour-over coffee, )[0-9a-f]{12}|(?<=/sites/acme/)[0-9a-f]{12}")
_CLOCKS: Final = (-45, -15, -8, 0, 8, 15, 45)
"""Minutes by which the clock of another side is ahead of ours, or behind."""
_numbers = count(1)


@dataclass(frozen=True)
class BrandServers:
    """The outside servers of one brand, with its own accounts."""

    brand: str
    fakes: Mapping[str, Fake]
    orders: Mapping[str, FaultsByAddress] = field(default_factory=dict)


class EffectServices:
    """One gateway and one worker at a time, with queues and databases of their own."""

    def __init__(
        self, world: FaultHarness, name: str, broker: Broker, urls: tuple[str, str, str], step_seconds: float
    ) -> None:
        self.world = world
        self.step_seconds = step_seconds
        self._name = name
        self._broker = broker
        self._rabbitmq_url, self._database_url, self._gateway_database_url = urls
        self._folder = world.folder / name
        self.holds = self._folder / "holds"
        self.site = self._folder / "site"
        for folder in (self.holds, self.site):
            folder.mkdir(parents=True)
        self._gateway_keys = Fernet.generate_key().decode()
        self.gateway: WorkerProcess
        self.worker: WorkerProcess
        self._database: asyncpg.Pool
        self._cleanup = AsyncExitStack()
        self._started = 0

    @classmethod
    @asynccontextmanager
    async def playing(cls, world: FaultHarness, name: str, *, step_seconds: float) -> AsyncIterator[Self]:
        """With a gateway and a worker that are ready."""
        servers = world.servers
        async with AsyncExitStack() as cleanup:
            rabbitmq_url = await cleanup.enter_async_context(servers.vhost())
            urls = (
                rabbitmq_url,
                await servers.create_database("publisher"),
                await servers.create_database("gateway"),
            )
            broker = await cleanup.enter_async_context(Broker.connected(rabbitmq_url))
            outside = cls(world, name, broker, urls, step_seconds)
            await cleanup.enter_async_context(outside._cleanup)
            outside._database = await asyncpg.create_pool(urls[1], min_size=1, max_size=3, timeout=30)
            cleanup.callback(outside._database.terminate)
            outside.gateway, outside.worker = await outside._started_both()
            yield outside

    async def _started_both(self) -> tuple[WorkerProcess, WorkerProcess]:
        gateway = self._start_gateway()
        worker = self._start_worker(gateway)
        await asyncio.gather(gateway.ready(), worker.ready())
        return gateway, worker

    # -- processes -------------------------------------------------------------------------------------------------------

    async def started_gateway(self, port: int | None = None) -> WorkerProcess:
        gateway = self._start_gateway(port)
        await gateway.ready()
        return gateway

    async def started_worker(self) -> WorkerProcess:
        worker = self._start_worker(self.gateway)
        await worker.ready()
        return worker

    def _start_gateway(self, port: int | None = None) -> WorkerProcess:
        environment = {
            "DATABASE_URL": self._gateway_database_url,
            "GATEWAY_KEYS": self._gateway_keys,
            "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
        }
        return self._start("gateway", environment, port)

    def _start_worker(self, gateway: WorkerProcess) -> WorkerProcess:
        url = self._rabbitmq_url
        environment = {
            "DATABASE_URL": self._database_url,
            "RABBITMQ_URL": f"{url}{'&' if '?' in url else '?'}{_HEARTBEAT}",
            "GATEWAY_URL": _url(gateway),
            "HOLDS": str(self.holds),
            "PUBLISH_FOLDER": str(self.site),
            "STEP_SECONDS": str(self.step_seconds),
            "AT_ONCE": str(AT_ONCE),
            "MUTATION": self.world.mutation,
            "RETRY_BASE_SECONDS": "0.2",
            "MAX_ATTEMPTS": "10",
        }
        return self._start(_PROGRAM, environment)

    def _start(self, program: str, environment: Mapping[str, str], port: int | None = None) -> WorkerProcess:
        self._started += 1
        name = f"{self._name}-{program.rpartition('.')[2]}-{self._started}"
        values = {
            "SERVICE_KEY": KEY,
            "SHUTDOWN_GRACE_SECONDS": "5",
            "LOG_LEVEL": "warning",
            **environment,
        }
        worker = processes.start(name, program, values, self.world.folder, self.world.history, port=port)
        self.world.workers.append(worker)
        return worker

    def api(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=_url(self.gateway), headers={"X-Service-Key": KEY}, trust_env=False, timeout=30
        )

    # -- other sides -----------------------------------------------------------------------------------------------------

    async def neighbourhood(self) -> BrandServers:
        """New other sides, with all accounts connected for a brand of its own; they last as long as all."""
        brand = f"acme{next(_numbers)}"
        fakes: dict[str, Fake] = {}
        orders: dict[str, FaultsByAddress] = {}
        async with self.api() as api:

            async def settle(place: EffectPlace) -> None:
                fake = await self._cleanup.enter_async_context(serving(place.fake()))
                fake.set_clock(timedelta(minutes=self.world.rng.choice(_CLOCKS)))
                fakes[place.channel] = fake
                orders[place.channel] = fake.faults = FaultsByAddress()
                await connect(api, place, fake, name=account_of(place.channel, brand), brand=brand)

            for place in PLACES:
                await settle(place)
        await self._database.execute(
            "insert into target_settings (brand_slug, target, settings) values ($1, $2, $3::text::jsonb)",
            brand,
            FILES,
            _FILES_SETTINGS,
        )
        return BrandServers(brand, fakes, orders)

    # -- posts and articles ----------------------------------------------------------------------------------------------

    async def ask_for(self, posts: Iterable[EffectRecord]) -> None:
        for post in posts:
            await (self._ask_for_article(post) if post.place in _ARTICLES else self._ask_for_post(post))

    async def _ask_for_post(self, post: EffectRecord) -> None:
        payload = PostSend(
            brand_slug=post.brand, content_id=post.post_id, post_id=post.post_id, channel=post.place
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

    async def _ask_for_article(self, post: EffectRecord) -> None:
        payload = ContentPublish(
            brand_slug=post.brand, content_id=post.post_id, target=target_of(post.place, post.brand)
        )
        message: DomainMessage[ContentPublish] = DomainMessage(
            event_id=post.event_id,
            type="content.publish",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id=str(post.event_id),
            payload=payload,
        )
        await self._broker.publish("commands", "publisher-commands", encode(message), type="content.publish")

    # -- where they stand still ------------------------------------------------------------------------------------------

    def hold(self, post: EffectRecord, moment: str, step: str) -> None:
        """Makes the worker that sends the post stop at this point."""
        order = self.holds / str(post.post_id)
        order.with_suffix(".new").write_text(f"{moment} {step}")
        order.with_suffix(".new").rename(order)

    def is_held(self, post: EffectRecord) -> bool:
        """Whether a worker has stopped at this point."""
        return self._has(post, "reached")

    def goes_on(self, post: EffectRecord) -> bool:
        """Whether the worker that stopped there is about to continue."""
        return self._has(post, "going")

    def has_passed(self, post: EffectRecord) -> bool:
        """Whether the worker that stopped there has ended the step, well or not."""
        return self._has(post, "passed")

    def _has(self, post: EffectRecord, mark: str) -> bool:
        return (self.holds / f"{post.post_id}.{mark}").exists()

    def free(self, posts: Iterable[EffectRecord]) -> None:
        for post in posts:
            (self.holds / str(post.post_id)).unlink(missing_ok=True)
            (self.holds / f"{post.post_id}.free").touch()

    # -- how they end ----------------------------------------------------------------------------------------------------

    async def those_ended(self, posts: Sequence[EffectRecord]) -> set[UUID]:
        """Events that were handled, or are dead letters."""
        events = [post.event_id for post in posts]
        rows = await self._database.fetch(
            "select event_id from processed_events where event_id = any ($1::uuid[])", events
        )
        return {UUID(int=row["event_id"].int) for row in rows}

    async def all_ended(self, posts: Sequence[EffectRecord]) -> bool:
        return len(await self.those_ended(posts)) == len(posts)

    async def ended(self, posts: Sequence[EffectRecord], *, patience: float = 90.0) -> None:
        """Waits as long as ever more of them end; `patience`: seconds in which none does."""
        before = 0
        while before < len(posts):
            before = await eventually(partial(self._more_ended, posts, before), within=patience)

    async def _more_ended(self, posts: Sequence[EffectRecord], before: int) -> int:
        """How many have, if these are more than before; 0: they are not."""
        now = len(await self.those_ended(posts))
        return now if now > before else 0

    async def all_begun_again(
        self, posts: Sequence[EffectRecord], brand: str, fences: Mapping[UUID, int]
    ) -> bool:
        """Whether another worker has claimed each of them."""
        now = await self.fences(posts, brand)
        return all(now.get(post.post_id, 0) > fences.get(post.post_id, 0) for post in posts)

    async def fences(self, posts: Sequence[EffectRecord], brand: str) -> dict[UUID, int]:
        """Of each that has a receipt; of an article, those of all its effects together."""
        return {post_id: fence for post_id, fence, _ in await self._receipts(posts, brand)}

    async def in_hand(self, posts: Sequence[EffectRecord], brand: str) -> set[UUID]:
        """Posts with a step that is being sent or looked up now."""
        return {post_id for post_id, _, held in await self._receipts(posts, brand) if held}

    async def _receipts(self, posts: Sequence[EffectRecord], brand: str) -> list[tuple[UUID, int, bool]]:
        """By post: the sum of its fences, and whether one of its receipts is held."""
        rows = await self._database.fetch(
            """
            select case when prepared ? 'target' then (prepared ->> 'content_id')::uuid else receipt_id end as post_id,
                   sum(fence) as fence,
                   bool_or(state in ('armed', 'unknown') and held_until > clock_timestamp()) as held
            from receipts where brand_slug = $1 group by 1
            """,
            brand,
        )
        wanted = {post.post_id for post in posts}
        found = [(UUID(int=row["post_id"].int), int(row["fence"]), bool(row["held"])) for row in rows]
        return [each for each in found if each[0] in wanted]

    async def look_at(self, posts: Sequence[EffectRecord], there: BrandServers) -> None:
        """Reads each post at the outside servers, and its receipt or publication."""
        ids = [post.post_id for post in posts]
        rows = await self._database.fetch(
            """
            select receipt_id as id, state from receipts where receipt_id = any ($1::uuid[])
            union all
            select content_id, case when reason = 'in_doubt' then 'in_doubt' when state = 'published' then 'confirmed'
                                    when state = 'failed' then 'refused' else state end
            from publications where content_id = any ($1::uuid[])
            """,
            ids,
        )
        states = {UUID(int=row["id"].int): row["state"] for row in rows}
        shown = {place: _by_mark(fake) for place, fake in there.fakes.items()}
        commits = await asyncio.to_thread(self._commits, there.brand)
        for post in posts:
            mark = mark_of(post.post_id)
            post.state = states.get(post.post_id, "")
            if post.place == FILES:
                post.seen = Counter(commit=commits.count(mark)) if mark in commits else Counter()
                post.seen += Counter(file=len(list((self.site / post.brand).rglob(f"*{mark}*.md"))))
            else:
                post.seen = shown[post.place].get(mark, Counter())

    def _commits(self, brand: str) -> list[str]:
        """Of each commit in a brand's repository, the mark of its article."""
        home = self.site / brand
        if not (home / ".git").exists():
            return []
        with Repo(str(home)) as repo:
            told = [entry.commit.message.decode() for entry in repo.get_walker()]
        return [each.strip().strip("”").rpartition(" ")[2] for each in told]


def target_of(place: str, brand: str) -> str:
    return place if place == FILES else account_of(place, brand)


def new_post(place: str, brand: str) -> EffectRecord:
    """Not asked for yet."""
    return EffectRecord(place, brand, uuid4(), new_event_id())


def _by_mark(fake: Fake) -> dict[str, Counter[str]]:
    """Kinds of what the public would see, by the mark in its text."""
    found: dict[str, Counter[str]] = {}
    for each in fake.accepted:
        for mark in set(_MARK.findall(f"{each.text} {each.more}")):
            found.setdefault(mark, Counter())[each.kind] += 1
    return found


def _url(worker: WorkerProcess) -> str:
    return f"http://127.0.0.1:{worker.port}"
