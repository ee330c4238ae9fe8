"""The cost of history: a full inbox, a long backlog. The speed must equal that with the smallest."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Final
from urllib.parse import urlsplit

from benchmarks.errors import MeasurementError
from benchmarks.load import messages
from benchmarks.measuring import effects
from benchmarks.measuring.drains import Drain, Round, wait_for_effects
from benchmarks.reporting.results import ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.throughput import gate_of_ours, size
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs
from benchmarks.systems.programs import Program
from messaging.storage.migrations import migrate

HEAD: Final = 9_000
"""Messages drained from the head of each backlog, also of the smallest."""
_HEAD_WARM_UP: Final = 1_000

_PRELOAD: Final = """
    insert into processed_events (event_id, type, queue, outcome, processed_at)
    select (lpad(to_hex(ms), 12, '0') || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid,
           'research.requested', 'research-commands', 'handled', to_timestamp(ms / 1000.0)
    from (select floor(extract(epoch from now() - interval '7 days') * 1000 + number * (7 * 86400000.0 / $1))::bigint as ms,
                 md5(number::text) as noise
          from generate_series(1, $1::int) as number) as made
"""
"""Rows with UUIDv7 keys spread evenly over the days that are kept, each in its day's partition."""


# -- inbox -------------------------------------------------------------------------------------------------------------


def inbox_growth(run: BenchmarkRun) -> list[ResultRow]:
    """The rate of `drain_idempotent` with 1e4 to 1e7 rows in the inbox already."""
    drain = Drain(run.nodes, log=run.log)
    gate = gate_of_ours(run)
    measured: dict[int, list[Round]] = {}
    with ExitStack() as cleanup:
        templates = {
            rows: _preloaded(run, cleanup, rows)
            for rows in run.of((10_000, 1_000_000), (10_000, 1_000_000, 10_000_000))
        }
        rounds = run.wanted_rounds or run.of(2, 5)
        for number in range(1, rounds + 1):
            for rows, template in templates.items():
                unique = run.wanted_messages or size(programs.ours().guess, run.of(2.0, 6.0))
                one = drain.measure(programs.ours(), "T2", unique, template=template)
                measured.setdefault(rows, []).append(one)
                run.log(f"inbox_growth {number}/{rounds} {rows:,} rows: {one.msgs_per_s:,.0f}/s")
    return _rows("inbox_growth", "inbox_rows", gate, measured)


def _preloaded(run: BenchmarkRun, cleanup: ExitStack, rows: int) -> str:
    """Creates a database with so many rows in its inbox, as a template for every round; returns its name."""
    url = cleanup.enter_context(run.nodes.database())
    asyncio.run(migrate(url))
    with Sql(url) as sql:
        sql.execute(_PRELOAD, rows)
        stray = sql.value("select count(*) from processed_events_default")
        if stray:
            raise MeasurementError(f"{stray} preloaded rows are in no day's partition")
        sql.execute("vacuum analyze processed_events")
        sql.execute("checkpoint")
    run.log(f"inbox of {rows:,} rows is made")
    return urlsplit(url).path.removeprefix("/")


# -- backlog -----------------------------------------------------------------------------------------------------------


def backlog_growth(run: BenchmarkRun) -> list[ResultRow]:
    """The rate of the first 9,000 messages of a backlog of 1e4 to 1e6, refilled before each round."""
    gate = gate_of_ours(run)
    measured: dict[int, list[Round]] = {}
    with ExitStack() as cleanup:
        backlogs = [
            Backlog(run, cleanup, length)
            for length in run.of((10_000, 100_000), (10_000, 100_000, 1_000_000))
        ]
        rounds = run.wanted_rounds or run.of(2, 7)
        for number in range(1, rounds + 1):
            for backlog in backlogs:
                one = backlog.drain_head()
                measured.setdefault(backlog.length, []).append(one)
                run.log(
                    f"backlog_growth {number}/{rounds} {backlog.length:,} waiting: {one.msgs_per_s:,.0f}/s"
                )
    return _rows("backlog_growth", "backlog", gate, measured)


class Backlog:
    """A queue that is filled to a length at the start of each round."""

    def __init__(self, run: BenchmarkRun, cleanup: ExitStack, length: int) -> None:
        self.length = length
        self._run = run
        self._missing = length
        place = cleanup.enter_context(run.nodes.place())
        self._sql = cleanup.enter_context(Sql(place.database_url))
        effects.create(self._sql)
        self._program = Program(programs.ours(), place, "T2", run.nodes.folder)
        self._program.prepare()

    def drain_head(self) -> Round:
        self._fill_up()
        self._sql.execute("truncate effects")
        with ExitStack() as cleanup:
            with effects.held(self._program.place.database_url):
                workers = cleanup.enter_context(programs.workers(self._program))
                programs.wait_until_ready(workers)
                pids = [worker.process.pid for worker in workers]
                before = self._run.nodes.cpu(pids)
            wait_for_effects(self._sql, HEAD, workers)
            used = self._run.nodes.cpu(pids) - before
            counted = effects.count(self._sql)
        window = effects.window(self._sql, skip=_HEAD_WARM_UP, up_to=HEAD)
        self._missing = effects.count(self._sql)
        return Round(
            window.messages / window.seconds, used.per_thousand(counted), window.messages, window.seconds
        )

    def _fill_up(self) -> None:
        path = self._run.nodes.folder / "backlog.jsonl"
        messages.write(path, self._missing)
        self._program.fill(path)


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(scenario: str, what: str, gate: str, measured: Mapping[int, Sequence[Round]]) -> list[ResultRow]:
    smallest = measured[min(measured)]
    rows = []
    for amount, rounds in measured.items():
        figures = [one.msgs_per_s for one in rounds]
        ratios = [one.msgs_per_s / first.msgs_per_s for one, first in zip(rounds, smallest, strict=True)]
        row = ResultRow(
            scenario,
            f"ours, {amount:.0e}".replace("e+0", "e"),
            msgs_per_s=round(median(figures), 1),
            cpu_s_per_1k=rounds[-1].cpu_s_per_1k,
            gate=gate,
            rounds=[round(figure, 1) for figure in figures],
            spread=spread_of(figures),
            extra={what: amount},
        )
        if rounds is not smallest:
            row.extra["ratio_to_smallest"] = round(median(ratios), 3)
        rows.append(row)
    return rows
