"""A standby takes over from a killed primary, and the old primary comes back: it must not be worked with."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import asyncpg

from brandctl.local.postgres import PostgresNode
from chassis.database.pool import Pool
from chassis.testing import TcpProxy, eventually
from faults.judging import checker, recorder
from faults.judging.checker import Violation
from faults.judging.observation import HandlerEffect
from faults.judging.results import ScenarioOutcome
from faults.playing.recovery import back_in_time, under_way, workers
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.scenarios.cluster import balanced_workers, leader_of
from faults.surroundings.nodes import PostgresServer
from messaging.storage.server_history import CommitLoss, note_server

_PER_SECOND: Final = 60.0
_BUDGET_SECONDS: Final = 300.0
_LOST: Final = "primary lost"
_CANNOT_FOLLOW: Final = "forked off current database system timeline"


@dataclass(frozen=True, slots=True)
class Pair:
    """A primary and its standby, which streams through a proxy."""

    primary: PostgresServer
    standby: PostgresNode
    replication: TcpProxy

    def url(self, direct: str) -> str:
        """Names both servers and asks for the one that takes writes, as the page on fail-over has it."""
        parts = urlsplit(direct)
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        netloc = f"{parts.username}:{parts.password}@{hosts}"
        return parts._replace(netloc=netloc, query="target_session_attrs=read-write").geturl()


@asynccontextmanager
async def _pair(world: FaultHarness, *, synchronous: bool) -> AsyncIterator[Pair]:
    primary = world.servers.database
    assert primary is not None
    async with TcpProxy("127.0.0.1", primary.port) as replication:
        standby = await primary.add_standby(world.folder / "nodes" / "standby", port=replication.port)
        try:
            if synchronous:
                await primary.wait_for_standby()
            yield Pair(primary, standby, replication)
        finally:
            await asyncio.to_thread(standby.stop)


@scenario(
    "synchronous standby takes over",
    "SIGKILL to the primary under load; its synchronous standby is promoted, and the old primary comes back",
    faults=(_LOST,),
    own_nodes=True,
    budget=_BUDGET_SECONDS,
)
async def synchronous_standby(world: FaultHarness) -> ScenarioOutcome:
    async with _pair(world, synchronous=True) as pair:
        await workers(world, 2, database_url=pair.url(world.database_url))
        async with world.load(_PER_SECOND):
            await under_way(world, 200)
            await pair.primary.kill()
            world.history.fault(_LOST)
            await _take_over(world, pair)
            await under_way(world, 100)
        return await _end(world, pair)


@scenario(
    "asynchronous standby takes over",
    "the same with a standby that was cut off: the last commits are gone, and the services are told since when",
    faults=(_LOST,),
    own_nodes=True,
    budget=_BUDGET_SECONDS,
)
async def asynchronous_standby(world: FaultHarness) -> ScenarioOutcome:
    async with _pair(world, synchronous=False) as pair:
        working = await workers(world, 2, database_url=pair.url(world.database_url))
        async with world.load(_PER_SECOND):
            await under_way(world, 100)
            await _note(world)
            # What was written before the note is committed by the time that so many more are.
            await under_way(world, 100)
            await eventually(pair.primary.standby_follows, within=30)
            pair.replication.cut()
            await under_way(world, 100)
            for worker in working:
                worker.stop()
            before = await recorder.effects(world.database)
            await pair.primary.kill()
            world.history.fault(_LOST)
            await _take_over(world, pair)
            kept = {each.command for each in await recorder.effects(world.database)}
            gone = [each for each in before if each.command not in kept]
            loss = await _note(world)
            for worker in working:
                worker.resume()
            await under_way(world, 100)
        return await _end(world, pair, gone=gone, loss=loss)


@scenario(
    "broker node and primary lost at once",
    "SIGKILL to the leader of the cluster and to the primary; the cluster goes on with two, the synchronous standby takes over",
    faults=("leader killed", _LOST),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def both_at_once(world: FaultHarness) -> ScenarioOutcome:
    leader = await leader_of(world)
    await leader.remember_queues()
    async with _pair(world, synchronous=True) as pair:
        await balanced_workers(world, 3, database_url=pair.url(world.database_url))
        async with world.load(_PER_SECOND):
            await under_way(world, 200)
            await asyncio.gather(leader.kill(), pair.primary.kill())
            world.history.fault("leader killed")
            world.history.fault(_LOST)
            await _take_over(world, pair)
            await under_way(world, 100)
        return await _end(world, pair)


async def _take_over(world: FaultHarness, pair: Pair) -> None:
    """Promotes the standby: workers find it by themselves."""
    connection = await asyncpg.connect(pair.standby.url)
    try:
        await connection.fetchval("select pg_promote(wait => true)")
    finally:
        await connection.close()
    await world.look_at(pair.standby.port)


async def _note(world: FaultHarness) -> CommitLoss | None:
    """What a service does every few seconds: notes the server, and finds out whether that has lost commits."""
    async with world.database.acquire() as connection, connection.transaction():
        return await note_server(connection)


async def _end(
    world: FaultHarness,
    pair: Pair,
    *,
    gone: Sequence[HandlerEffect] = (),
    loss: CommitLoss | None = None,
) -> ScenarioOutcome:
    """Lets the old primary come back, works on, and judges.

    Args:
        world: with workers that are under way again.
        pair: with the standby as the primary.
        gone: effects that the old primary had and the new one has not.
        loss: the notice that a service gets of it.
    """
    await pair.primary.come_back(after=pair.standby)
    if gone:
        await eventually(lambda: _CANNOT_FOLLOW in pair.primary.latest_log.read_text(), within=30)
    async with asyncpg.create_pool(
        world.servers.owner_url(world.database_url), min_size=0, max_size=1
    ) as old:
        # A new worker asks the old primary first, as its address names it first.
        await world.worker(database_url=pair.url(world.database_url))
        await world.heal()
        await back_in_time(world)
        await world.submit(50)
        seconds = await world.drain(_BUDGET_SECONDS)
        seen = await world.observe()
        refuses = await _refuses_writes(old)
    lost = checker.lost(world.history, seen)
    found = [*judge_loss(lost, gone, loss), *judge_old_primary(refuses=refuses)]
    # What an asynchronous standby never had counts as never confirmed: it ends once more, or not at all.
    world.history.accepted -= {each.command for each in gone}
    found += checker.check(world.history, seen, world.terms((_LOST,)))
    return ScenarioOutcome(
        submitted=len(world.history.commands),
        effects=len(seen.effects),
        dead_letters=len(seen.letters),
        lost=len(lost),
        duplicated=checker.duplicated(seen),
        fired=world.history.faults[_LOST] + world.history.faults["leader killed"],
        seconds_to_heal=seconds,
        violations=tuple(found),
    )


def judge_loss(
    lost: Collection[str], gone: Sequence[HandlerEffect], loss: CommitLoss | None
) -> Iterator[Violation]:
    """Only what the standby never had may be lost, and a service gets a time after which all of it was written."""
    if more := set(lost) - {each.command for each in gone}:
        yield Violation(1, f"lost, although the standby had it: {len(more)} ({min(more)}, …)")
    if not gone:
        return
    if loss is None:
        yield Violation(1, f"{len(gone)} effects are gone, and nobody is told")
    elif early := [each for each in gone if each.written_at <= loss.kept_until]:
        yield Violation(1, f"{len(early)} effects are gone from before {loss.kept_until}, when all was there")


def judge_old_primary(*, refuses: bool) -> Iterator[Violation]:
    """A worker whose effects went there is found by the checker as well: the new primary lacks them."""
    if not refuses:
        yield Violation(0, "the old primary takes writes again")


async def _refuses_writes(pool: Pool) -> bool:
    try:
        await pool.execute("delete from effects")
    except asyncpg.ReadOnlySQLTransactionError:
        return True
    return False
