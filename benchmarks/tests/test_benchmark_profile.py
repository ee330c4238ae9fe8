"""From what a watched service saw to steps and a flame graph."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.reporting import flames, steps
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
    f"{LOOP}writing.body.paragraphs:compose;re:sub 4",
    "runpy:run_module;asyncio.runners:Runner.run;asyncio.base_events:_run_once;selectors:EpollSelector.select 5",
]


@pytest.mark.extended
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_watched_process_says_what_it_computes_in_its_loop_and_in_its_threads(
    tmp_path: Path, loop: str
) -> None:
    (tmp_path / "busy.py").write_text(BUSY.format(loop=loop))
    seen = tmp_path / "busy.stacks"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.systems.profiler", str(seen), "busy"],
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
            "writing.body": 0.2,
            "publisher.rendering": 0.15,
            "orchestrator.cycles": 0.1,
        }
    )
    assert steps.by_step({}) == {}
    assert (
        steps.step_of(("publisher.handlers:read", "chassis.http.client:Client.get", "ssl:read"))
        == "HTTP client"
    )


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
