"""The five real services as processes under a steady load of keywords, and the result of each keyword.

Triggers put into their databases from outside copy every page, post and research that is written into tables without
any unique constraint; the services know nothing of them.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import asyncpg
import httpx

from brandctl.local import processes, services
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.world import OUTAGES, FaultHarness

CORPUS: Final = Path(__file__).parents[5] / "deploy" / "demo" / "corpus"
KEY: Final = "a-key-for-tests-only"
_KEYWORDS: Final = (
    "pour-over coffee",
    "grind size",
    "water quality for coffee",
    "cold brew",
    "french press",
    "moka pot",
    "espresso",
)
_BRANDS: Final = 40
_ASK_AGAIN_SECONDS: Final = 0.3
AUDITED: Final = {"publisher": "pages", "social": "posts", "research": "research"}
# Before, not after: a second insert shows even where a constraint then turns it into nothing.
AUDIT: Final = """
create table audit (n bigserial, row jsonb not null);
create function note_insert() returns trigger language plpgsql as $$
begin insert into audit (row) values (to_jsonb(new)); return new; end $$;
create trigger audit before insert on {table} for each row execute function note_insert();
"""
AUDIT_OF_ROWS: Final = AUDIT.replace("before insert", "after insert")
"""For scenarios where one thing is rightly asked for twice: only rows that are there count."""
PATIENCE: Final = {"RETRY_BASE_SECONDS": "1", "MAX_ATTEMPTS": "8"}
"""Instead of half a minute to the second attempt, which a fault matrix cannot wait for."""


Keyword = tuple[str, str]
"""(brand, keyword)"""


@dataclass(frozen=True)
class PipelineCounts:
    """Counts of audits and dead letters by keyword."""

    pages: Counter[Keyword]
    posts: Counter[Keyword]
    research: Counter[Keyword]
    dead: set[str]
    """correlation_ids of open dead letters."""

    @property
    def duplicated(self) -> int:
        counts = (self.pages, self.posts, self.research)
        return sum(max(times - 1, 0) for each in counts for times in each.values())

    def ends(self, chain: str, keyword: Keyword) -> bool:
        """Whether anything at all became of it."""
        return bool(self.pages[keyword] or self.posts[keyword] or chain in self.dead)


@dataclass
class ServiceStack:
    """The services, the keywords that were submitted to them, and their audits."""

    world: FaultHarness
    addresses: services.ServiceAddresses
    environments: dict[str, dict[str, str]]
    children: dict[str, processes.ChildProcess] = field(default_factory=dict)
    accepted: dict[str, Keyword] = field(default_factory=dict)
    """By correlation_id."""
    in_doubt: set[Keyword] = field(default_factory=set)
    asked_again: int = 0
    _next: int = 0

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        world: FaultHarness,
        *,
        corpus: Path = CORPUS,
        audit: str = AUDIT,
        further: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ) -> AsyncIterator[Self]:
        """Starts the services; `further` are settings by service."""
        addresses = services.choose_addresses()
        environments = {}
        for name in services.NAMES:
            database_url = await world.servers.create_database(name)
            environments[name] = (
                PATIENCE
                | services.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=world.rabbitmq_url,
                    database_url=database_url,
                    service_key=KEY,
                    corpus=corpus,
                )
                | PATIENCE
                # None of it runs here, and an erasure would wait for it.
                | {"GATEWAY_URL": ""}
                | dict(further.get(name, {}))
            )
            if name in AUDITED:
                await world.servers.add_tables(database_url, audit.format(table=AUDITED[name]))
        stack = cls(world, addresses, environments)
        try:
            for name in services.NAMES:
                stack.start(name)
            await stack.ready()
            await stack.make_brands()
            yield stack
        finally:
            await asyncio.to_thread(services.stop, list(stack.children.values()))

    def start(self, name: str) -> None:
        logs = self.world.folder / f"{name}-{time.monotonic_ns()}"
        self.children[name] = services.start(name, self.environments[name], logs)

    async def kill(self, name: str) -> None:
        """As the kernel does when memory runs out: no signal handler, no goodbye."""
        process = self.children[name].process
        process.kill()
        await asyncio.to_thread(process.wait)
        self.world.history.fault(f"{name} killed")

    def freeze(self, name: str) -> None:
        """Stops the service by SIGSTOP until `thaw`."""
        self.children[name].process.send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self.children[name].process.send_signal(signal.SIGCONT)

    async def ready(self) -> None:
        await asyncio.to_thread(services.wait_until_ready, list(self.children.values()), self.addresses)

    # -- load --------------------------------------------------------------------------------------------------------

    def api(self, service: str) -> httpx.AsyncClient:
        """A client with the key."""
        return httpx.AsyncClient(
            base_url=self.addresses.url(service), headers={"X-Service-Key": KEY}, timeout=10, trust_env=False
        )

    async def make_brands(self) -> None:
        async with self.api("orchestrator") as api:
            for number in range(_BRANDS):
                (
                    await api.put(f"/v1/brands/brand-{number}", json={"name": f"Brand {number}"})
                ).raise_for_status()

    @asynccontextmanager
    async def load(self, per_second: float) -> AsyncIterator[None]:
        """Submits one keyword after another while the block runs, or until every brand has all of them."""

        async def go_on() -> None:
            async with self.api("orchestrator") as api:
                while self._next < _BRANDS * len(_KEYWORDS):
                    await asyncio.gather(self._submit(api), asyncio.sleep(1 / per_second))

        task = asyncio.create_task(go_on(), name="keywords")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _submit(self, api: httpx.AsyncClient) -> None:
        number, self._next = self._next, self._next + 1
        brand, keyword = f"brand-{number % _BRANDS}", _KEYWORDS[number // _BRANDS]
        # Until there is an answer nobody knows; asking again under the same key is no second order.
        self.in_doubt.add((brand, keyword))
        while (brand, keyword) in self.in_doubt:
            with suppress(httpx.TransportError):
                answer = await api.post(
                    f"/v1/brands/{brand}/research",
                    json={"keywords": [keyword]},
                    headers={"Idempotency-Key": f"order-{number}"},
                )
                if answer.status_code == httpx.codes.ACCEPTED:
                    self.in_doubt.discard((brand, keyword))
                    self.accepted[answer.json()["correlation_id"]] = (brand, keyword)
                    return
            self.asked_again += 1
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    # -- what became of it -------------------------------------------------------------------------------------------

    async def audit(self, service: str) -> list[dict[str, Any]]:
        connection = await asyncpg.connect(self.environments[service]["DATABASE_URL"], timeout=5)
        try:
            rows = await connection.fetch(
                "select row->>'brand_slug' as brand, row->>'keyword' as keyword, row->>'content_id' as content"
                " from audit"
            )
        finally:
            await connection.close()
        return [dict(row) for row in rows]

    async def posted(self) -> int:
        """Posts so far; 0 as well while the database is away."""
        try:
            return len(await self.audit("social"))
        except OUTAGES:
            return 0

    async def dead(self) -> set[str]:
        """correlation_ids of the open dead letters."""
        async with self.api("monitor") as api:
            answer = await api.get("/v1/dead-letters", params={"state": "open", "limit": 200})
            answer.raise_for_status()
            return {item["correlation_id"] for item in answer.json()["items"]}

    async def seen(self) -> PipelineCounts:
        posts = await self.audit("social")
        # A page is there before its post.
        pages = await self.audit("publisher")
        keyword_of = {page["content"]: (page["brand"], page["keyword"]) for page in pages}
        return PipelineCounts(
            pages=Counter((page["brand"], page["keyword"]) for page in pages),
            posts=Counter(keyword_of.get(post["content"], ("", "")) for post in posts),
            research=Counter((each["brand"], each["keyword"]) for each in await self.audit("research")),
            dead=await self.dead(),
        )

    async def outcome(self, faults: tuple[str, ...], *, within: float = 100.0) -> ScenarioOutcome:
        """Waits until every accepted keyword has a post or a dead letter, and judges."""
        healed = time.monotonic()
        await self.ready()

        async def all_ended() -> bool:
            # By keyword, not by number: an order whose answer nobody waited for has its post too.
            try:
                seen = await self.seen()
            except (*OUTAGES, httpx.TransportError):
                return False
            return all(seen.posts[keyword] or chain in seen.dead for chain, keyword in self.accepted.items())

        with suppress(AssertionError):
            await eventually(all_ended, within=within)
        seconds = time.monotonic() - healed
        seen = await self.seen()
        missing = [fault for fault in faults if not self.world.history.faults[fault]]
        return ScenarioOutcome(
            submitted=len(self.accepted) + len(self.in_doubt),
            effects=seen.posts.total(),
            dead_letters=len(seen.dead),
            lost=sum(not seen.ends(chain, keyword) for chain, keyword in self.accepted.items()),
            duplicated=seen.duplicated,
            fired=sum(self.world.history.faults[fault] for fault in faults),
            seconds_to_heal=seconds,
            violations=(
                *judge(self.accepted, self.in_doubt, seen),
                *(Violation(9, f"the fault {fault!r} never happened") for fault in missing),
            ),
        )


def judge(
    accepted: Mapping[str, Keyword], in_doubt: Collection[Keyword], seen: PipelineCounts
) -> list[Violation]:
    """Each accepted keyword has one page and one post, or an open dead letter; nothing else is there, nothing twice."""
    violations = []
    for chain, keyword in accepted.items():
        ends = (seen.pages[keyword], seen.posts[keyword], chain in seen.dead)
        if ends not in {(1, 1, False), (1, 0, True), (0, 0, True)}:
            told = f"{keyword}: {ends[0]} pages, {ends[1]} posts, dead: {ends[2]}"
            violations.append(Violation(1, told))
    strangers = (seen.pages | seen.posts | seen.research).keys() - set(accepted.values()) - set(in_doubt)
    violations += [Violation(2, f"{each} was never submitted") for each in strangers]
    if seen.duplicated:
        violations.append(Violation(1, f"{seen.duplicated} times a page, a post or research too often"))
    return violations
