"""outbox_chain: each message leaves an effect and one outgoing message, which counts once it is in its queue."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from benchmarks.errors import MeasurementError
from benchmarks.measuring import effects
from benchmarks.measuring.drains import WARM_UP, Drain, Round
from benchmarks.reporting.results import GATE_PASSED
from benchmarks.servers.queues import Queues
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs
from benchmarks.systems.programs import Program, System
from brandctl.local import processes
from envelope.brand import EVENTS_QUEUE

_POLL_SECONDS: Final = 0.01
_STALLED_SECONDS: Final = 45.0


class Chain(Drain):
    """A drain that ends when every outgoing message is confirmed in its queue and the outbox is empty."""

    def measure(self, system: System, tier: str, unique: int, *, template: str | None = None) -> Round:
        with ExitStack() as cleanup:
            program, sql, file = self.filled(cleanup, system, tier, unique, self.duplicates, template)
            queues = cleanup.enter_context(Queues(program.place.rabbitmq_url))
            with effects.held(program.place.database_url):
                workers = cleanup.enter_context(programs.workers(program))
                programs.wait_until_ready(workers)
                pids = [worker.process.pid for worker in workers]
                cleanup.enter_context(self.beside(pids))
                before = self.nodes.cpu(pids)
            queue = outgoing_queue(system)
            there = wait_for_outgoing(queues, queue, round(unique * WARM_UP), workers)
            began = time.monotonic()
            wait_for_outgoing(queues, queue, unique, workers)
            wait_for_empty_outbox(sql)
            seconds = time.monotonic() - began
            used = self.nodes.cpu(pids) - before
            arrived, happened = queues.ready(queue), effects.count(sql)
        if (arrived, happened) != (unique, unique):
            raise MeasurementError(f"{arrived} outgoing messages and {happened} effects of {unique} messages")
        return Round((unique - there) / seconds, used.per_thousand(file.lines), unique - there, seconds)

    def judge(self, program: Program, sql: Sql, ids: Sequence[str]) -> str:
        verdict = super().judge(program, sql, ids)
        if verdict != GATE_PASSED:
            return verdict
        wait_for_empty_outbox(sql)
        causes: dict[str, set[str]] = {}

        def note(body: bytes) -> None:
            message = json.loads(body)
            causes.setdefault(message["causation_id"], set()).add(message["event_id"])

        with Queues(program.place.rabbitmq_url) as queues:
            queue = outgoing_queue(program.system)
            queues.take(queue, queues.ready(queue), note)
        missing = len(set(ids) - set(causes))
        # The same message may be published twice, because consumers recognize its id. Two different ones may not.
        doubled = sum(len(answers) > 1 for answers in causes.values())
        if missing or doubled or len(causes) > len(ids):
            return f"failed: {missing} outgoing messages lost, {doubled} doubled of {len(ids)}"
        return GATE_PASSED


def outgoing_queue(system: System) -> str:
    """The queue of the outgoing messages; that of a peer is in its program."""
    return EVENTS_QUEUE if system.kind == "ours" else "answers"


def wait_for_outgoing(
    queues: Queues, queue: str, wanted: int, workers: Sequence[processes.ChildProcess]
) -> int:
    found, last_change = -1, time.monotonic()
    while (now_found := queues.ready(queue)) < wanted:
        if now_found != found:
            found, last_change = now_found, time.monotonic()
        elif time.monotonic() - last_change > _STALLED_SECONDS:
            raise MeasurementError(f"stuck at {found} of {wanted} outgoing messages")
        programs.check_running(workers)
        time.sleep(_POLL_SECONDS)
    return now_found


def wait_for_empty_outbox(sql: Sql) -> None:
    """Leases of a killed worker expire within half a minute; until then its rows wait."""
    deadline = time.monotonic() + _STALLED_SECONDS
    while sql.value("select exists (select from outbox)"):
        if time.monotonic() > deadline:
            left = sql.value("select count(*) from outbox")
            raise MeasurementError(f"{left} messages stay in the outbox")
        time.sleep(_POLL_SECONDS)
