"""One, two and four replicas of every service: no lock that all wait for, no more statements a keyword, fair shares."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from brandctl.local import services
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.service_replicas import DatabaseWork, ReplicatedServices
from faults.playing.world import FaultHarness

REPORT: Final = Path("build") / "replicas.json"
_REPLICAS: Final = (1, 2, 4)
_PER_SECOND: Final = 100.0
_KEYWORDS: Final = 280
_QUIET_SECONDS: Final = 15.0
_MORE_STATEMENTS: Final = 1.5
"""Of the statements for a keyword with one replica."""
_SETTLED: Final = "insert into processed_events"
"""How the statement begins that ends each batch of messages."""
_LEAST_SHARE: Final = 0.4
"""Of a replica, where 1 is exactly its part."""
_ENOUGH: Final = 200
"""Messages of a service below which shares are chance."""
_FREQUENT: Final = 12
_BUDGET_SECONDS: Final = 1_200.0


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """What one service needed, with so many replicas."""

    replicas: int
    service: str
    statements_at_rest: float
    """A second, all replicas together, without any message."""
    statements: float
    """For each keyword, without those at rest."""
    lock_waits: dict[str, int]
    """Kind of lock → waits of more than 50 ms, all keywords together."""
    messages: int
    """That its replicas handled."""
    batches: int
    """In which they did, each a transaction."""
    shares: tuple[float, ...]
    """Of the messages handled, by replica."""
    published: tuple[float, ...]
    """Of the messages sent, by replica."""
    frequent: dict[str, int]
    """The most frequent statements, all keywords together."""
    frequent_at_rest: dict[str, float]
    """The same a second, without any message."""


@scenario(
    "replicas of every service",
    "one, two and four replicas of each service take 280 keywords from one submission to the last post",
    faults=("replicas measured",),
    own_nodes=True,
    budget=_BUDGET_SECONDS,
)
async def replicas_of_every_service(world: FaultHarness) -> ScenarioOutcome:
    found: list[ServiceFigures] = []
    outcomes: list[ScenarioOutcome] = []
    for replicas in (1, 2) if world.fast else _REPLICAS:
        async with ReplicatedServices.running(world, replicas) as running:
            figures, outcome = await measure(world, running, replicas)
        found += figures
        outcomes.append(outcome)
        # The queues are those of the world: what is left in one would count against the next.
        _write(found)
    first = outcomes[0]
    return replace(
        first,
        submitted=sum(each.submitted for each in outcomes),
        effects=sum(each.effects for each in outcomes),
        lost=sum(each.lost for each in outcomes),
        duplicated=sum(each.duplicated for each in outcomes),
        fired=len(outcomes),
        violations=(*(each for outcome in outcomes for each in outcome.violations), *judge(found)),
    )


async def measure(
    world: FaultHarness, running: ReplicatedServices, replicas: int
) -> tuple[list[ServiceFigures], ScenarioOutcome]:
    stack, log = running.stack, running.log
    log.span()
    # Nothing is waited for: this is what pollers ask for while there is no work.
    await asyncio.sleep(_QUIET_SECONDS)
    rest = log.span()
    before, started = await running.shares(), time.monotonic()
    keywords = 60 if world.fast else _KEYWORDS
    async with stack.load(_PER_SECOND):
        await eventually(lambda: len(stack.accepted) >= keywords, within=_BUDGET_SECONDS / 4)
    outcome = await stack.outcome((), within=_BUDGET_SECONDS / 4)
    seconds, after, work = time.monotonic() - started, await running.shares(), log.span()
    world.history.fault("replicas measured")
    made = [
        _figures(service, replicas, len(stack.accepted), seconds, rest[service], work[service])
        for service in services.NAMES
    ]
    return [_with_shares(each, before[each.service], after[each.service]) for each in made], outcome


def _figures(
    service: str, replicas: int, keywords: int, seconds: float, rest: DatabaseWork, work: DatabaseWork
) -> ServiceFigures:
    at_rest = rest.statements / _QUIET_SECONDS
    return ServiceFigures(
        replicas=replicas,
        service=service,
        statements_at_rest=round(at_rest, 1),
        statements=round((work.statements - at_rest * seconds) / keywords, 1),
        lock_waits=dict(work.waits),
        messages=0,
        batches=sum(times for text, times in work.texts.items() if text.startswith(_SETTLED)),
        shares=(),
        published=(),
        frequent=dict(work.texts.most_common(_FREQUENT)),
        frequent_at_rest={
            text: round(times / _QUIET_SECONDS, 1) for text, times in rest.texts.most_common(_FREQUENT)
        },
    )


def _with_shares(
    figures: ServiceFigures, before: list[Counter[str]], after: list[Counter[str]]
) -> ServiceFigures:
    made = [new - old for old, new in zip(before, after, strict=True)]
    return replace(
        figures,
        messages=sum(each["processed"] for each in made),
        shares=_parts([each["processed"] for each in made]),
        published=_parts([each["published"] for each in made]),
    )


def _parts(counts: list[int]) -> tuple[float, ...]:
    return tuple(round(count / max(sum(counts), 1), 2) for count in counts)


def judge(found: list[ServiceFigures]) -> Iterator[Violation]:
    """What would keep replicas from adding anything."""
    alone = {each.service: each for each in found if each.replicas == 1}
    for each in found:
        one = alone[each.service]
        # Several replicas share what is there, so that their batches are smaller: at worst, each message comes alone.
        in_a_batch = one.messages / one.batches if one.batches else 1.0
        limit = one.statements * max(_MORE_STATEMENTS, in_a_batch) + 1
        if each.statements > limit:
            told = f"{each.statements} statements a keyword, and {one.statements} with one"
            yield Violation(0, f"{each.service} with {each.replicas} replicas: {told}")
        least = min(each.shares, default=1.0) * each.replicas
        if each.messages >= _ENOUGH and least < _LEAST_SHARE:
            yield Violation(0, f"{each.service} with {each.replicas} replicas: shares of {each.shares}")


def _write(found: list[ServiceFigures]) -> None:
    rows: list[dict[str, Any]] = [asdict(each) for each in found]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
