"""Messages that are repeated, out of order, broken, too large, slow, or of a type that is still unknown."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from chassis.testing import eventually
from envelope import MAX_MESSAGE_BYTES, new_event_id
from faults.judging import recorder
from faults.judging.checker import Violation
from faults.judging.history import SubmittedCommand
from faults.judging.results import ScenarioOutcome
from faults.playing.recovery import told
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.strange_input.door import RecordingService, draw, multiply
from faults.surroundings.processes import WorkerProcess
from faults.workload import backlog, commands
from faults.workload.sender import EncodedCommand


def logged(world: FaultHarness, *events: str) -> int:
    """Lines that tell of one of these events, over all workers, so far."""
    counts = recorder.log_events([line for worker in world.workers for line in worker.log_lines()])
    return sum(counts.get(event, 0) for event in events)


@scenario(
    "duplicates and reordering",
    "10% of all messages come twice and all out of order, to two replicas",
    faults=("duplicate",),
    fast=True,
)
async def duplicates_and_reordering(world: FaultHarness) -> None:
    number = world.count(2000, fast=150)
    for _ in range(2):
        await world.worker()
    await world.submit({"ok": number, "slow:0.05": 20}, copies=0.1)
    await eventually(lambda: world.effects_at_least(number + 20))
    await eventually(lambda: logged(world, "duplicate_ignored", "duplicates_ignored"))
    world.history.fault("duplicate", logged(world, "duplicate_ignored", "duplicates_ignored"))
    world.demand(
        "both replicas had a share", lambda seen: len({effect.worker for effect in seen.effects}) == 2
    )


def changed(sending: EncodedCommand, change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(sending.body)
    change(document)
    return json.dumps(document).encode()


def renamed(name: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["type"] = name

    return change


def without_keyword(document: dict[str, Any]) -> None:
    del document["payload"]["keyword"]


@scenario(
    "poison of every kind",
    "bad JSON, unknown types, wrong payloads, oversize and hopeless messages among healthy ones",
    faults=("poison",),
    fast=True,
)
async def poison_of_every_kind(world: FaultHarness) -> None:
    each = world.count(10, fast=3)
    await world.worker()
    poison: list[SubmittedCommand] = []
    for _ in range(each):
        fresh = world.sending("ok never")
        cut, typed = fresh.body[: world.rng.randrange(1, len(fresh.body))], fresh.type
        unknown, wrong = world.sending("ok unknown"), world.sending("ok wrong")
        large = world.sending("ok large").body.ljust(MAX_MESSAGE_BYTES + world.rng.randrange(1, 900_000))
        poison += [
            await world.submit_body(cut, expect="not_an_envelope", message_type=typed),
            await world.submit_body(changed(unknown, renamed("weather.changed")), expect="unknown_type"),
            await world.submit_body(changed(wrong, without_keyword), expect="invalid_payload"),
        ]
        # Nobody reads an identity out of what is too large: its dead letter does.
        told = SubmittedCommand(recorder.identity_of(large), commands.RESEARCH, expect="too_large")
        await world.send(EncodedCommand(told, large))
        poison += [told, *await world.submit({"ok": 20, "refuse": 1})]
    dead = [command for command in poison if command.expect != "effect"]
    letters = await world.take_letters(*dead)
    world.history.fault("poison", len(letters))
    assert all(letter.detail.strip() for letter in letters)


@scenario(
    "new message type at an old service",
    "messages of a type that only a newer release knows reach the release before it, which is then replaced",
    faults=("unknown type",),
    fast=True,
)
async def new_type_at_an_old_service(world: FaultHarness) -> None:
    old = await world.worker()
    ahead: list[SubmittedCommand] = []
    for number in range(world.count(20, fast=4)):
        sending = world.sending(f"ok ahead {number}")
        body = changed(sending, renamed("research.requested.v2"))
        told = replace(sending.command, expect="unknown_type")
        await world.send(replace(sending, command=told, body=body, type="research.requested.v2"))
        ahead.append(told)
    await world.submit(50)
    letters = await world.take_letters(*ahead)
    for letter in letters:
        assert "deploy a consumer that knows it, then replay" in letter.detail, letter.detail
    world.history.fault("unknown type", len(letters))
    # The release that knows it: here the operator's replay carries the type that it was meant to be.
    await old.terminate()
    await world.worker()
    for command in ahead:
        await world.replay(command, "ok at last", copies=0.5)


@scenario(
    "transient failures",
    "handlers that fail once or twice before they succeed, and some that always do",
    faults=("attempt failed",),
    fast=True,
)
async def transient_failures(world: FaultHarness) -> None:
    for _ in range(2):
        await world.worker()
    always = world.count(5, fast=1)
    mix = {"ok": world.count(500, fast=60), "fail:1": world.count(60, fast=6), "fail:2": 5, "poison": always}
    await world.submit(mix, copies=0.05)
    succeed = mix["ok"] + mix["fail:1"] + mix["fail:2"]
    await eventually(lambda: world.effects_at_least(succeed))
    await eventually(lambda: world.dead_letters_at_least(always))
    world.history.fault("attempt failed", logged(world, "attempt_failed"))


# -- slow consumers ----------------------------------------------------------------------------------------------------

_CONSUMER_TIMEOUT_MS = 4_000


@scenario(
    "handler longer than the consumer timeout",
    "handlers hold messages for longer than the broker lets a consumer, which then loses its channel",
    faults=("consumer timed out",),
    own_nodes=True,
)
async def handler_longer_than_the_consumer_timeout(world: FaultHarness) -> None:
    broker = world.servers.broker
    assert broker is not None
    # The broker looks once a minute, and allows half an hour; here it looks every half second.
    await broker.evaluate(
        f"application:set_env(rabbit, consumer_timeout, {_CONSUMER_TIMEOUT_MS}),"
        " application:set_env(rabbit, channel_tick_interval, 500)."
    )
    await world.worker("batches", watch_seconds=1)
    await world.worker("singles", handler="single", queue=commands.ORCHESTRATOR, watch_seconds=1)
    await world.submit({"slow:7": 2, "ok": 50})
    await world.submit({"slow:7": 2, "ok": 50}, queue=commands.ORCHESTRATOR)
    await eventually(lambda: timeouts(world, broker.log), within=30)
    await eventually(lambda: world.effects_at_least(104))
    world.history.fault("consumer timed out", timeouts(world, broker.log))
    world.demand(
        "it does not go on for ever: few timeouts, few duplicates",
        lambda seen: timeouts(world, broker.log) <= 4 and seen.logged.get("consumer_lost", 0) <= 4,
    )


# In the words of 3.10, and of 4.0 to 4.2.
_TIMED_OUT: Final = re.compile(
    r"timed out waiting for (?:delivery acknowledgement|a consumer acknowledgement)"
)


def timeouts(world: FaultHarness, log: Path) -> int:
    """RabbitMQ up to 4.2 closes the channel and logs why; from 4.3 on it only cancels the consumer."""
    closed = len(_TIMED_OUT.findall(log.read_text(errors="replace")))
    return closed or sum(len(list(told(worker, "consumer_lost"))) for worker in world.workers)


@scenario(
    "slow consumer with a long backlog",
    "100,000 messages wait for a consumer that takes ten a second, beside another queue that is in use",
    faults=("backlog",),
)
async def slow_consumer_with_a_long_backlog(world: FaultHarness) -> ScenarioOutcome:
    waiting = world.count(100_000, fast=5_000)
    await pile_up(world, waiting)
    # Takes what it has prefetched, waits for a batch that never fills, and so does ten a second.
    slow = await world.worker(
        "slow", queue=commands.ORCHESTRATOR, batch_size=1000, batch_timeout=1.0, prefetch=10
    )
    quick = await world.worker("quick")
    before, largest, longest = memory(slow), 0, 0.0
    for round_ in range(1, world.count(12, fast=3) + 1):
        started = time.monotonic()
        await world.submit(50)
        await eventually(partial(effects_of, world, quick, round_ * 50), within=30)
        longest = max(longest, time.monotonic() - started)
        largest = max(largest, memory(slow))
    for worker in (slow, quick):
        assert await worker.terminate() == 0
    left = (await recorder.depths(world.rabbitmq_url, [commands.ORCHESTRATOR]))[commands.ORCHESTRATOR]
    done = await world.database.fetchval("select count(*) from effects where worker = 'slow'")
    twice = await world.database.fetchval("select count(*) - count(distinct event_id) from effects")
    violations = []
    if longest > _PROMPT_SECONDS:
        violations.append(Violation(0, f"the other queue was held up for {longest:.1f} s"))
    if largest - before > _GROWTH_MB:
        violations.append(Violation(0, f"its memory grew from {before} MB to {largest} MB"))
    if done + left != waiting:
        violations.append(Violation(1, f"{waiting} came in, {done} are done and {left} wait"))
    rounds = world.count(12, fast=3) * 50
    lost = waiting + rounds - left - done - await effects_of(world, quick, 0)
    return ScenarioOutcome(
        submitted=waiting + rounds,
        effects=waiting + rounds - left - lost,
        dead_letters=0,
        lost=lost,
        duplicated=twice,
        fired=left,
        seconds_to_heal=longest,
        violations=tuple(violations),
    )


_GROWTH_MB = 30
_PROMPT_SECONDS = 5.0


async def pile_up(world: FaultHarness, count: int) -> None:
    """Publishes so many commands, without telling the history of each."""
    document = json.loads(world.sending("ok backlog", queue=commands.ORCHESTRATOR).body)
    bodies = (json.dumps(document | {"event_id": str(new_event_id())}).encode() for _ in range(count))
    await backlog.fill(world.rabbitmq_url, commands.ORCHESTRATOR, bodies)


async def effects_of(world: FaultHarness, worker: WorkerProcess, at_least: int) -> int:
    found: int = await world.database.fetchval("select count(*) from effects where worker = $1", worker.name)
    return found if found >= at_least else 0


def memory(worker: WorkerProcess) -> int:
    """Resident memory in MB."""
    status = Path(f"/proc/{worker.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


# -- bad input at scale ------------------------------------------------------------------------------------------------


@scenario(
    "thousands of strange messages",
    "bytes, broken JSON, wrong fields, hostile headers and megabytes, straight into all six queues",
    faults=("strange message",),
)
async def thousands_of_strange_messages(world: FaultHarness) -> ScenarioOutcome:
    drawn = draw(400, number=world.rng.randrange(1_000_000))
    messages = multiply(drawn, world.count(3_000, fast=300), number=world.rng.randrange(1_000_000))
    async with RecordingService.open(
        world.rabbitmq_url, world.database_url, owner_url=world.servers.owner_url(world.database_url)
    ) as door:
        wrong = await door.judge(messages)
        effects = await door.effects()
        problems = await door.service.problems()
    violations = [Violation(1, each[:400]) for each in wrong]
    violations += [Violation(0, f"{part}: {problem}") for part, problem in problems.items()]
    outcomes = sum(message.outcomes for message in messages)
    done = sum(1 for message in messages if message.event_id and effects[message.event_id])
    return ScenarioOutcome(
        submitted=sum(message.copies for message in messages),
        effects=done,
        dead_letters=outcomes - done,
        lost=len(wrong),
        duplicated=sum(count - 1 for count in effects.values()),
        fired=len(messages),
        seconds_to_heal=0.0,
        violations=tuple(violations),
    )
