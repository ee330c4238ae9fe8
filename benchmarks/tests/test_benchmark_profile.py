"""From what a watched service saw to steps, a flame graph and the tables of the document."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reporting import document, flames, steps
from benchmarks.reporting.document import DocumentError, Measurements
from benchmarks.reporting.results import Progress, Row
from benchmarks.servers.nodes import statements_of

BUSY = """
import asyncio, os, signal, time, uvloop

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass

def in_a_thread(seconds):
    spin(seconds)

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)  # as services do: signals wake the loop
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.sleep(0)
    spin(0.4)
    await asyncio.to_thread(in_a_thread, 0.4)
    os.kill(os.getpid(), signal.SIGUSR1)

{loop}.run(main())
"""

LOOP = "runpy:run_module;asyncio.runners:Runner.run;asyncio.events:Handle._run;"
LINES = [
    f"{LOOP}messaging.flow.runner:Runner.run;orchestrator.cycles.handlers:progress;asyncpg.pool:Pool.fetch 6",
    f"{LOOP}messaging.flow.runner:Runner.run;orchestrator.cycles.handlers:progress 2",
    f"{LOOP}starlette.routing:app;publisher.rendering:render;markdown_it.main:MarkdownIt.render 3",
    f"{LOOP}orchestrator.writing.body.paragraphs:compose;re:sub 4",
    "runpy:run_module;asyncio.runners:Runner.run;asyncio.base_events:_run_once;selectors:EpollSelector.select 5",
]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_watched_process_says_what_it_computes_in_its_loop_and_in_its_threads(
    tmp_path: Path, loop: str
) -> None:
    (tmp_path / "busy.py").write_text(BUSY.format(loop=loop))
    seen = tmp_path / "busy.stacks"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.systems.sampled", str(seen), "busy"],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    counts = {
        "main": 0,
        "thread": 0,
    }
    for stack, count in steps.read(seen.read_text().splitlines()).items():
        assert not any("runpy" in frame for frame in stack)
        if any(frame.endswith(":in_a_thread") for frame in stack):
            counts["thread"] += count
        elif any(frame.endswith(":spin") for frame in stack):
            counts["main"] += count
    assert counts["main"] > 300_000  # microseconds, of 400,000 each
    assert counts["thread"] > 300_000


def test_the_innermost_room_or_library_is_the_step() -> None:
    stacks = steps.read(LINES)
    assert steps.by_step(stacks) == pytest.approx(
        {
            "database driver": 0.3,
            "event loop, sockets": 0.25,
            "orchestrator.writing.body": 0.2,
            "publisher.rendering": 0.15,
            "orchestrator.cycles": 0.1,
        }
    )
    assert steps.by_step({}) == {}


def test_a_flame_graph_is_as_wide_as_the_time() -> None:
    by_service = steps.read_by_service([f"orchestrator;{line}" for line in LINES] + [f"social;{LINES[1]}"])
    picture = flames.draw("T <1>", "", by_service, {"orchestrator": 20.0, "social": 5.0})
    root = ET.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    widths = {
        group.findtext(f"{space}title"): float(group.find(f"{space}rect").get("width"))  # type: ignore[union-attr,arg-type]
        for group in root.iter(f"{space}g")
    }
    assert widths["orchestrator: 20.00 ms"] == pytest.approx(4 * widths["social: 5.00 ms"], abs=0.2)
    assert widths["asyncpg: 6.00 ms"] == pytest.approx(widths["orchestrator: 20.00 ms"] * 0.3, abs=0.2)
    assert "event loop, sockets: 5.00 ms" in widths


def teststatements_of_of_many_lines_and_of_other_databases_are_told_apart() -> None:
    log = [
        "[a] LOG:  statement: BEGIN;",
        "[a] LOG:  execute __asyncpg_stmt_1__: select *",
        "\tfrom posts",
        "\twhere x = $1",
        "[a] DETAIL:  parameters: $1 = '5'",
        "[b] LOG:  statement: COMMIT;",
        "[a] ERROR:  it failed",
        "[a] LOG:  statement: ROLLBACK;",
    ]
    assert statements_of(log, "a") == ["BEGIN;", "select * from posts where x = $1", "ROLLBACK;"]
    assert statements_of(log, "b") == ["COMMIT;"]


# -- the document ------------------------------------------------------------------------------------------------------


def measurements() -> Measurements:
    surroundings: dict[str, Any] = {
        "at": "2027-03-01T10:00:00Z",
        "seconds": 3725,
        "full": True,
        "processors": 2,
        "python": "3.11.2",
        "rounds": 5,
        "servers": {"rabbitmq": "3.10.8", "postgresql": "15.1"},
    }
    cpu = {"broker": 0.014, "database": 0.01, "python": 0.03}
    rows = [
        Row("drain_idempotent", "celery", msgs_per_s=1664, cpu_s_per_1k=cpu, ratio_to_ours=0.048, gate="passed", kind="broker"),
        Row("drain_idempotent", "ours", msgs_per_s=34765.4, cpu_s_per_1k=cpu, ratio_to_ours=1.0, gate="passed", spread=0.5, rounds=[1, 2]),
        Row("drain_idempotent", "celery", tier="T0", msgs_per_s=2138, gate="passed", kind="broker"),
        Row("drain_idempotent", "dbos", gate="skipped: not there", kind="database"),
        Row(
            "pipeline_profile",
            "ours",
            extra={
                "keywords": 600,
                "cpu_ms_by_service": {"social": 3.0},
                "cpu_ms_by_step": {"social": {"social.domain": 2.0, "the rest": 1.0}},
                "statements": {"social": 6.2},
            },
        ),
    ]  # fmt: skip
    return Measurements(rows, surroundings)


def text(*names: str) -> str:
    return "Before.\n" + "".join(
        f"<!-- measured: {name} -->\nold\n<!-- /measured -->\nBy hand.\n" for name in names
    )


ALL = ("surroundings", "drains", "tiers", "goals", "keyword", "costs")


def test_the_tables_of_the_document_are_those_of_the_run() -> None:
    renewed = document.renew(text(*ALL), measurements())
    assert "old" not in renewed
    assert renewed.count("By hand.") == len(ALL)
    assert "RabbitMQ 3.10.8, PostgreSQL 15.1" in renewed
    assert "| **ours** | **34,765** | 50% | 0.014 | 0.010 | 0.030 | 1 |" in renewed
    assert "| DBOS queue (PostgreSQL alone) | no figure: skipped: not there |" in renewed
    assert "| Celery | 2,138 |  | 1,664 |" in renewed
    assert "| drain_idempotent | ≥ 40,000/s | 34,765/s | **missed** |" in renewed
    assert "| latency_light p50 | ≤ 1.5 ms |  | not measured |" in renewed
    assert "| social | 3.0 | 6.2 | social.domain 2, the rest 1 |" in renewed
    assert document.renew(renewed, measurements()) == renewed


@pytest.mark.parametrize("names", [ALL[1:], (*ALL, "weather")])
def test_a_document_without_a_block_or_with_a_strange_one_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(DocumentError, match="blocks of the document"):
        document.renew(text(*names), measurements())


def test_the_document_of_the_project_can_be_renewed() -> None:
    path = Path(__file__).parents[2] / "docs" / "performance.md"
    renewed = document.renew(path.read_text(), measurements())
    assert "| **ours** | **34,765** | 50% |" in renewed
    assert "## What limits it" in renewed


def test_measurements_come_back_as_they_were_written(tmp_path: Path) -> None:
    measurements().write(tmp_path / "measurements.json")
    assert Measurements.read(tmp_path / "measurements.json") == measurements()


def test_a_run_that_was_interrupted_is_gone_on_with_unless_it_was_of_another_size(tmp_path: Path) -> None:
    progress = Progress(tmp_path, full=True)
    progress.add("drain_idempotent", [Row("drain_idempotent", "ours")], {"seconds": 5}, None)
    progress.add("memory", [], {"seconds": 6}, {"busy_rss_mb": 70.0})
    again = Progress.read(tmp_path, full=True)
    assert (again.rows, list(again.took), again.worker_memory) == (
        progress.rows,
        ["drain_idempotent", "memory"],
        {"busy_rss_mb": 70.0},
    )
    assert again.sittings == 2
    assert json.loads((tmp_path / "bench.json").read_text())[0]["system"] == "ours"
    assert Progress.read(tmp_path, full=False) == Progress(tmp_path, full=False)
    assert Progress.read(tmp_path / "elsewhere", full=True).took == {}
