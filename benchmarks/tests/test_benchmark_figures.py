"""Calculations of the benchmarks, without servers: orders with copies, verdicts, goals, pictures, the shape of the file."""

import asyncio
import contextlib
import itertools
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import accounting
from benchmarks.accounting import CpuSeconds
from benchmarks.load import messages, readers, visitors
from benchmarks.measuring.console_screens import Screens, page_routes
from benchmarks.measuring.effects import EffectCheck
from benchmarks.reporting import goals, pictures, results
from benchmarks.reporting.results import ResultRow
from benchmarks.scenarios import SCENARIOS, corpus
from benchmarks.systems import selection
from envelope import EnvelopeHead

SPIN = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {SPIN!r}])
print("over", flush=True)
sys.stdin.read()
"""


def measured_row(system: str, per_second: float, *, kind: str = "ours", gate: str = "passed") -> ResultRow:
    cpu = {"broker": 0.01, "database": 0.02, "python": 0.03}
    return ResultRow(
        "drain_idempotent",
        system,
        msgs_per_s=per_second,
        cpu_s_per_1k=cpu,
        ratio_to_ours=per_second / 16_000,
        kind=kind,
        gate=gate,
        rounds=[per_second],
    )


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unique", "copies"), [(1, 0), (20, 1), (1000, 53), (500, 500), (10, 35)])
def test_every_message_is_there_its_copies_too_and_the_last_is_no_copy(unique: int, copies: int) -> None:
    order = messages.order_with_copies(unique, copies)
    counts = Counter(order)
    assert set(counts) == set(range(unique))
    assert len(order) == unique + copies
    assert order[-1] == unique - 1
    assert messages.firsts(order) == sorted(messages.firsts(order))
    assert len(messages.firsts(order)) == unique


def test_a_file_has_one_envelope_of_a_known_size_on_each_line(tmp_path: Path) -> None:
    file = messages.write(tmp_path / "messages.jsonl", 100, duplicates=0.5)
    lines = file.path.read_bytes().splitlines()
    assert (len(lines), file.lines, file.unique) == (200, 200, 100)
    assert len({EnvelopeHead.model_validate_json(line).event_id for line in lines}) == 100
    assert all(300 <= len(line) <= 420 for line in lines)
    assert file.lines_before(0) == 0
    assert file.lines_before(100) == 200


# -- processor time ----------------------------------------------------------------------------------------------------


def test_the_time_of_a_busy_child_is_counted_while_it_runs_and_after_it_ended() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        before = accounting.cpu_seconds([parent.pid])
        deadline = time.monotonic() + 60
        while accounting.cpu_seconds([parent.pid]) - before < 0.2:
            assert time.monotonic() < deadline
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"over\n"
        assert 0.35 <= accounting.cpu_seconds([parent.pid]) - before < 5
        assert accounting.resident_bytes(parent.pid) > 1_000_000
    finally:
        parent.communicate()
    assert accounting.cpu_seconds([parent.pid]) == 0
    assert accounting.resident_bytes(parent.pid) == 0


def test_processor_time_is_given_per_thousand_messages() -> None:
    used = CpuSeconds(3.0, 5.0, 8.0) - CpuSeconds(1.0, 1.0, 2.0)
    assert used.per_thousand(4_000) == {"broker": 0.5, "database": 1.0, "python": 1.5}


def test_growth_is_that_of_the_worst_process() -> None:
    assert accounting.growth(10, [50_000_000, 40_000_000], [50_500_000, 42_000_000]) == {
        "messages": 10,
        "busy_rss_mb": 50.5,
        "drift_percent": 5.0,
    }


# -- verdicts, goals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (EffectCheck(wanted=10, effects=10, distinct=10, foreign=0), "passed"),
        (
            EffectCheck(wanted=10, effects=9, distinct=9, foreign=0),
            "failed: 1 lost, 0 doubled, 0 foreign of 10",
        ),
        (
            EffectCheck(wanted=10, effects=12, distinct=10, foreign=0),
            "failed: 0 lost, 2 doubled, 0 foreign of 10",
        ),
        (
            EffectCheck(wanted=10, effects=10, distinct=10, foreign=1),
            "failed: 1 lost, 0 doubled, 1 foreign of 10",
        ),
    ],
)
def test_a_lost_doubled_or_foreign_effect_fails_the_gate(verdict: EffectCheck, words: str) -> None:
    assert str(verdict) == words
    assert verdict.passed == (words == "passed")


def test_goals_are_reached_missed_or_not_measured() -> None:
    rows = [measured_row("ours", 41_000), measured_row("celery", 2_000, kind="broker")]
    states = {outcome.name: outcome.state for outcome in goals.judge(rows)}
    assert states["drain_idempotent beside Celery"] == "missed"
    assert states["drain_idempotent beside the best per-message peer on RabbitMQ"] == "reached"
    assert states["outbox_chain beside the drain"] == "not measured"


def test_a_figure_without_its_gate_reaches_no_goal_and_is_in_no_picture(tmp_path: Path) -> None:
    rows = [measured_row("ours", 16_000, gate="failed: 1 lost, 0 doubled, 0 foreign of 10")]
    assert {outcome.state for outcome in goals.judge(rows)} == {"not measured"}
    assert {outcome.why for outcome in goals.judge(rows) if outcome.name.startswith("drain")} == {
        rows[0].gate
    }
    assert pictures.draw(rows, tmp_path) == {}


def test_the_bounds_are_those_that_were_set() -> None:
    assert {goal.scenario for goal in goals.GOALS} <= {*SCENARIOS}
    at_most = {goal.name: goal.bound for goal in goals.GOALS if goal.at_most}
    assert at_most["latency_light p99 beside the raw batched loop"] == 1
    assert at_most["prune_day, the largest day"] == 100


def test_what_is_slow_for_people_has_goals_too() -> None:
    rows = [
        ResultRow("first_page", "ours", p50_ms=119.0, p99_ms=301.0, gate="passed"),
        ResultRow("api_submit", "ours, 1 keyword", p50_ms=5_000.0, gate="passed"),
        ResultRow("api_submit", "ours, 10,000 keywords", p50_ms=700.0, gate="passed"),
        ResultRow("site_pages", "ours, whole", p99_ms=9.0, gate="passed", extra={"per_s_of_a_core": 1_600.0}),
        ResultRow("site_pages", "ours, 304", p99_ms=11.0, gate="passed", extra={"per_s_of_a_core": 1_400.0}),
        ResultRow("corpus_index", "ours", extra={"seconds": 12.0, "files": 1_000}),
        ResultRow("corpus_index", "ours, unchanged", extra={"seconds": 0.1, "files": 250}),
    ]
    outcomes = {outcome.name: (outcome.measured, outcome.state) for outcome in goals.judge(rows)}
    assert outcomes["replay_flood"] == (None, "not measured")
    assert outcomes["first_page p50"] == (119.0, "reached")
    assert outcomes["first_page p99"] == (301.0, "missed")
    assert outcomes["api_submit of 10,000"] == (700.0, "reached")
    assert outcomes["site_pages, of a core"] == (1_400.0, "missed")
    assert outcomes["site_pages p99 at half of that"] == (11.0, "missed")
    assert outcomes["corpus_index of 1,000 files"] == (12.0, "reached")
    assert outcomes["corpus_index of 1,000 files, unchanged"] == (None, "not measured")  # of 250


def test_the_console_is_judged_by_its_slowest_page_beside_the_whole_stock() -> None:
    def measured_console(brands: int) -> dict[str, tuple[float | None, str]]:
        rows = [
            ResultRow("console", "ours, pages", extra={"slowest_page_p95_ms": 90.0, "brands": brands}),
            ResultRow(
                "console", "ours, pages of one brand", extra={"slowest_page_p95_ms": 101.0, "brands": brands}
            ),
            ResultRow("console", "ours, at rest", extra={"console_rest_mb": 79.0, "brands": brands}),
        ]
        return {outcome.name: (outcome.measured, outcome.state) for outcome in goals.judge(rows)}

    assert measured_console(1_000)["console, p95 of the slowest page"] == (101.0, "missed")
    assert measured_console(20)["console, p95 of the slowest page"] == (None, "not measured")
    assert measured_console(20)["console at rest"] == (79.0, "reached")


def test_the_routes_of_the_console_are_found_by_themselves() -> None:
    routes = page_routes()
    assert {"/", "/b/{brand}/posts", "/b/{brand}/posts/{post_id}", "/audit-log", "/search"} <= routes
    assert not {"/live", "/sign-in", "/b/{brand}/posts.{ending}", "/audit-log.csv"} & routes
    screens = Screens(routes)
    assert screens.route_of("/b/acme/keywords/add?priority=high") == "/b/{brand}/keywords/add"
    assert screens.route_of("/b/acme/keywords/1.2") == "/b/{brand}/keywords/{keyword_id}"
    assert screens.route_of("/nowhere/at/all") is None


async def test_readers_keep_to_their_schedule_and_time_each_kind_of_page() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                status = b"200 OK" if b"Cookie: session=ada" in head else b"401 Unauthorized"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 4\r\n\r\npage")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        visits = [("home", "/", "session=ada"), ("posts", "/b/acme/posts", "nobody")]
        seen = await readers.read(url, visits, rate=100, seconds=0.2)
    assert {kind: each.statuses for kind, each in seen.items()} == {"home": [200] * 10, "posts": [401] * 10}
    assert seen["home"].bytes == 40
    assert all(ms >= 0 for each in seen.values() for ms in each.milliseconds)


def test_pages_are_opened_in_turns_of_changing_order_and_in_the_same_ones_in_each_run() -> None:
    visits = [(str(number), f"/{number}", "ada") for number in range(20)]
    opened = readers.in_turns(visits, 50)
    assert len(opened) == 50
    first, second, rest = opened[:20], opened[20:40], opened[40:]
    assert sorted(first) == sorted(second) == sorted(visits)
    assert first != second
    assert len(set(rest)) == 10
    assert readers.in_turns(visits, 50) == opened


# -- visitors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 200.0])
async def test_visitors_count_what_they_were_answered(rate: float) -> None:
    asked: list[bytes] = []
    answers = itertools.cycle(
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ]
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                asked.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(next(answers))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        seen = await visitors.visit(
            f"http://127.0.0.1:{port}/a/page",
            connections=1,
            seconds=0.5,
            headers={"If-None-Match": '"1"'},
            rate=rate,
        )
    assert asked[0] == (
        f'GET /a/page HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nIf-None-Match: "1"\r\n\r\n'.encode()
    )
    assert len(asked) == len(seen.milliseconds) == seen.statuses.total() >= 3
    if rate:
        assert len(asked) <= 100
    assert seen.statuses.keys() == {200, 304}
    assert seen.bytes == 5 * -(-len(asked) // 3) + 3 * (len(asked) // 3)


def test_pages_of_the_corpus_are_all_different_and_the_same_every_time(tmp_path: Path) -> None:
    size = corpus.write_pages(tmp_path / "once", 5)
    assert corpus.write_pages(tmp_path / "again", 5) == size
    once = [path.read_text() for path in sorted((tmp_path / "once").iterdir())]
    assert once == [path.read_text() for path in sorted((tmp_path / "again").iterdir())]
    assert len(set(once)) == 5
    assert all(5_000 < len(text) < 40_000 for text in once)


# -- what is written ---------------------------------------------------------------------------------------------------


def test_pictures_are_well_formed_and_escape_their_labels(tmp_path: Path) -> None:
    rows = [
        measured_row("ours <&> theirs", 16_000),
        measured_row("celery", 2_000, kind="broker"),
        ResultRow("inbox_growth", "ours, 1e4", msgs_per_s=10.0, gate="passed", extra={"inbox_rows": 10_000}),
        ResultRow("prune_day", "ours, 1e5", p50_ms=16.0, extra={"rows": 100_000}),
    ]
    written = pictures.write(tmp_path, pictures.draw(rows, tmp_path))
    assert {path.name for path in written} == {
        "bench-throughput.svg",
        "bench-cpu.svg",
        "bench-growth.svg",
        "bench-prune.svg",
        "bench-goals.svg",
    }
    for path in written:
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in written[0].read_text()


def test_the_file_has_the_promised_fields_and_can_be_read_again(tmp_path: Path) -> None:
    rows = [measured_row("ours", 16_000)]
    results.write(tmp_path / "build" / "bench.json", rows)
    (row,) = json.loads((tmp_path / "build" / "bench.json").read_text())
    assert {
        "scenario",
        "system",
        "tier",
        "msgs_per_s",
        "p50_ms",
        "p99_ms",
        "cpu_s_per_1k",
        "ratio_to_ours",
        "gate",
    } <= set(row)
    assert set(row["cpu_s_per_1k"]) == {"broker", "database", "python"}
    assert results.read(tmp_path / "build" / "bench.json") == rows


def test_the_spread_is_the_range_over_the_median() -> None:
    assert results.spread_of([90.0, 100.0, 120.0]) == 0.3
    assert results.spread_of([]) is None


def test_ours_is_always_among_the_systems_and_an_unknown_one_is_refused() -> None:
    chosen, left_out = selection.choose(["celery"])
    assert chosen[0].name == "ours"
    assert {system.name for system in chosen} | set(left_out) == {"ours", "celery"}
    with pytest.raises(selection.UnknownSystemError, match="no system celeri"):
        selection.choose(["celeri"])
