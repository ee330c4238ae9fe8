"""ledger: what it costs to compare every sent message with its outcome, in the monitor and in a sender."""

import time
from statistics import median
from typing import Final

import httpx

from benchmarks.accounting import cpu_seconds
from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import throughput
from benchmarks.scenarios.chain import Chain
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import Stack, stack
from brandctl.local import processes
from envelope import new_event_id

_BATCH: Final = 100
"""Messages of one record, as a busy sender writes them."""
_STALLED_SECONDS: Final = 60.0
# The monitor reads them in two seconds, and has not read past them: it leaves the last minute for later.
_SENT: Final = """
    insert into sent_batches (sent_at, exchange, routing_key, type, event_ids, correlation_ids)
    values (clock_timestamp() - interval '58 seconds', 'commands', 'research-commands', 'research.requested', $1::uuid[], $2::text[])
"""
_HANDLED: Final = """
    insert into processed_events (event_id, type, queue, outcome)
    select id, 'research.requested', 'research-commands', 'handled' from unnest($1::uuid[]) as id
"""


def ledger(run: BenchmarkRun) -> list[ResultRow]:
    return [_monitor(run), _sender(run)]


def _sender(run: BenchmarkRun) -> ResultRow:
    """`outbox_chain` with the record of sent messages, beside itself without it, in turn."""
    chain = Chain(run.nodes, log=run.log)
    with_it, without = throughput.ours("outbox"), throughput.ours("outbox", MESSAGE_LEDGER="false")
    throughput.pass_gate(run, chain, with_it)
    for number in range(1, run.rounds + 1):
        throughput.measure(run, f"ledger {number}/{run.rounds}", chain, with_it)
        without.rate = with_it.rate
        throughput.measure(run, f"ledger {number}/{run.rounds} without it", chain, without)
    row = throughput.row_of("ledger", with_it, with_it)
    row.system = "ours, a sender"
    row.ratio_to_ours = None
    pairs = list(zip(with_it.rounds, without.rounds, strict=False))
    if pairs:
        row.extra |= {
            "without_ledger_msgs_per_s": round(median(other.msgs_per_s for _, other in pairs), 1),
            "ratio_to_without_ledger": round(
                median(one.msgs_per_s / other.msgs_per_s for one, other in pairs), 3
            ),
        }
    return row


def _monitor(run: BenchmarkRun) -> ResultRow:
    row = ResultRow("ledger", "ours, the monitor")
    messages = run.wanted_messages or run.of(10_000, 100_000)
    try:
        with (
            stack(run.nodes, ("orchestrator", "research", "monitor")) as services,
            Sql(services.database_url("monitor")) as monitor,
        ):
            pid = services.children["monitor"].process.pid
            idle = _idle(pid, run.of(5.0, 30.0))
            began, before = time.monotonic(), cpu_seconds([pid])
            _send(services, messages)
            _wait(monitor, messages)
            seconds = time.monotonic() - began
            used = cpu_seconds([pid]) - before
            done = monitor.value("select sum(done) from ledger_counts")
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(f"ledger failed: {error}")
        return row
    row.gate = GATE_PASSED if done == messages else f"failed: {done} of {messages} messages are done"
    row.msgs_per_s = round(messages / seconds, 1)
    row.extra = {
        "monitor_us_per_message": round(1e6 * max(used - idle * seconds, 0.0) / messages, 2),
        "messages": messages,
    }
    run.log(f"ledger: {row.extra}, at rest {idle:.1%} of a core")
    return row


def _idle(pid: int, seconds: float) -> float:
    """The share of a core that the monitor takes without messages."""
    before = cpu_seconds([pid])
    time.sleep(seconds)
    return (cpu_seconds([pid]) - before) / seconds


def _send(services: Stack, messages: int) -> None:
    """Records messages as sent by the orchestrator and handled by research."""
    ids = [new_event_id() for _ in range(messages)]
    with (
        Sql(services.database_url("research")) as research,
        Sql(services.database_url("orchestrator")) as orchestrator,
    ):
        research.execute(_HANDLED, ids)
        for start in range(0, messages, _BATCH):
            batch = ids[start : start + _BATCH]
            orchestrator.execute(_SENT, batch, [str(each) for each in batch])


def _wait(monitor: Sql, messages: int) -> None:
    found, last_change = -1, time.monotonic()
    while (now := monitor.value("select coalesce(sum(accepted), 0) from ledger_counts")) < messages:
        if now != found:
            found, last_change = now, time.monotonic()
        elif time.monotonic() - last_change > _STALLED_SECONDS:
            raise MeasurementError(f"the ledger stays at {now} of {messages} messages")
        time.sleep(0.2)
