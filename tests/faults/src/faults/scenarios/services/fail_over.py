"""The database fails over to a standby that was behind: the last commits are gone, the broker's messages stay acknowledged."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import asyncpg

from chassis.testing import TcpProxy, eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.stack import AUDIT_OF_ROWS, Keyword, PipelineCounts, ServiceStack
from faults.playing.world import OUTAGES, FaultHarness

_FAULT: Final = "failed over"
_BUDGET_SECONDS: Final = 300.0
_PER_SECOND: Final = 5
_AT_EACH_STAGE: Final = 6
"""Keywords whose page, and as many whose post, are under way when the standby hears the last of it."""
_UNDER_WAY: Final = frozenset({"queued", "writing", "publishing", "promoting"})
_ASKS_AGAIN: Final = {"STALL_AFTER_HOURS": str(10 / 3600), "HOUSEKEEPING_SECONDS": "2"}
"""What nobody answers for is asked for once more after 10 seconds, and given up after as many again."""


@dataclass(frozen=True, slots=True)
class KeywordEnding:
    """The orchestrator's state of a keyword."""

    keyword: Keyword
    state: str
    setbacks: str
    """As stored: empty where it has none."""


@scenario(
    "asynchronous fail-over",
    "the database is killed and its standby takes over, without the last seconds of what the services have acknowledged",
    faults=(_FAULT,),
    own_nodes=True,
    budget=_BUDGET_SECONDS,
)
async def asynchronous_fail_over(world: FaultHarness) -> ScenarioOutcome:
    return await _fail_over(world, answers_wait=False)


@scenario(
    "asynchronous fail-over with answers under way",
    "the same, and what social has lost is heard of only afterwards: its answers wait for the orchestrator meanwhile",
    faults=(_FAULT,),
    own_nodes=True,
    budget=_BUDGET_SECONDS,
)
async def asynchronous_fail_over_with_answers_under_way(world: FaultHarness) -> ScenarioOutcome:
    return await _fail_over(world, answers_wait=True)


async def _fail_over(world: FaultHarness, *, answers_wait: bool) -> ScenarioOutcome:
    """Fails over to the standby. With `answers_wait` the orchestrator is stopped while social works on, and later hears of lost posts.

    Then the orchestrator itself has lost nothing, and repeats unanswered requests only after hours. Lost posts come back only
    because social reports that its database has lost commits.
    """
    lost = _AT_EACH_STAGE if answers_wait else 2 * _AT_EACH_STAGE
    database = world.servers.database
    assert database is not None
    async with (
        TcpProxy("127.0.0.1", database.port) as replication,
        ServiceStack.running(world, audit=AUDIT_OF_ROWS) as stack,
    ):
        standby = await database.add_standby(world.folder / "nodes" / "standby", port=replication.port)
        async with stack.load(_PER_SECOND):
            await posts(stack, 5)
            async with at_both_stages(stack):
                if answers_wait:
                    stack.freeze("orchestrator")
                await eventually(database.standby_follows, within=30)
                replication.cut()
                before = await stack.posted()
            # What waited is done and answered, and unless the answers wait they are acknowledged; the standby hears nothing of it.
            await posts(stack, before + lost)
            # Whatever posts again would be counted as kept.
            stack.freeze("social")
            await database.kill()
            await database.replace_by(standby)
            kept = await stack.posted()
            stack.thaw("social")
            world.history.fault(_FAULT, before + lost - kept)
            await stack.kill("orchestrator")
            if not answers_wait:
                stack.environments["orchestrator"] |= _ASKS_AGAIN
            stack.start("orchestrator")
            await stack.ready()
            await posts(stack, kept + 10)
        return await _outcome(world, stack)


@asynccontextmanager
async def at_both_stages(stack: ServiceStack) -> AsyncIterator[None]:
    """In the block keywords wait for the publisher, and others for social."""
    try:
        stack.freeze("social")
        await at_stage(stack, "promoting")
        stack.freeze("publisher")
        await at_stage(stack, "publishing")
        yield
    finally:
        for name in ("publisher", "social"):
            stack.thaw(name)


async def at_stage(stack: ServiceStack, state: str) -> None:
    """Returns once enough keywords are there."""

    async def enough() -> bool:
        ended = await endings(stack)
        return sum(each.state == state for each in ended.values()) >= _AT_EACH_STAGE

    await eventually(enough, within=30)


async def posts(stack: ServiceStack, count: int) -> None:
    async def enough() -> bool:
        return await stack.posted() >= count

    await eventually(enough)


async def _outcome(world: FaultHarness, stack: ServiceStack) -> ScenarioOutcome:
    healed = time.monotonic()

    looks: list[tuple[Mapping[str, KeywordEnding], PipelineCounts]] = []

    async def all_well() -> bool:
        """Whether nothing is under way, and what was completed and then lost is there again."""
        try:
            ended = await endings(stack)
            seen = await stack.seen()
        except OUTAGES:
            return False
        looks.append((ended, seen))
        return all(each.state not in _UNDER_WAY for each in ended.values()) and not any(judge(ended, seen))

    with suppress(AssertionError):
        await eventually(all_well, within=70)
    seconds = time.monotonic() - healed
    # The look that found all well: a request that the client gave up may be accepted after it, and its keyword is under way then.
    ended, seen = looks[-1]
    found = tuple(judge(ended, seen))
    return ScenarioOutcome(
        submitted=len(ended),
        effects=seen.posts.total(),
        dead_letters=len(seen.dead),
        lost=sum(each.state in _UNDER_WAY or _unanswered(each) for each in ended.values()),
        duplicated=sum(max(times - 1, 0) for counts in (seen.pages, seen.posts) for times in counts.values()),
        fired=world.history.faults[_FAULT],
        seconds_to_heal=seconds,
        violations=found,
    )


async def endings(stack: ServiceStack) -> Mapping[str, KeywordEnding]:
    """By correlation_id, every keyword that the orchestrator knows; an acceptance that was lost is none."""
    connection = await asyncpg.connect(stack.environments["orchestrator"]["DATABASE_URL"], timeout=5)
    try:
        rows = await connection.fetch(
            "select correlation_id::text, brand_slug, keyword, state, setbacks::text as setbacks"
            " from keywords join cycles using (cycle_id)"
        )
    finally:
        await connection.close()
    return {
        row["correlation_id"]: KeywordEnding(
            (row["brand_slug"], row["keyword"]), row["state"], row["setbacks"]
        )
        for row in rows
    }


def judge(ended: Mapping[str, KeywordEnding], seen: PipelineCounts) -> Iterator[Violation]:
    """Checks that each keyword has one page and one post, or a known reason why not, and nothing twice."""
    for chain, each in ended.items():
        there = (seen.pages[each.keyword], seen.posts[each.keyword])
        told = f"{each.keyword}: {each.state}, {there[0]} pages, {there[1]} posts, {each.setbacks}"
        if each.state == "completed":
            if there != (1, 1):
                yield Violation(1, told)
        elif chain not in seen.dead and (each.state in _UNDER_WAY or _unanswered(each)):
            yield Violation(1, told)
    for what, counts in (("page", seen.pages), ("post", seen.posts)):
        for keyword, times in counts.items():
            if times > 1:
                yield Violation(1, f"{keyword}: {times} times the {what}")


def _unanswered(ending: KeywordEnding) -> bool:
    """Whether the keyword failed because an answer never came."""
    return ending.state != "completed" and "no outcome" in ending.setbacks
