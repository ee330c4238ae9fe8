"""From what a watched service saw to steps and a flame graph."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.errors import MeasurementError
from benchmarks.reporting import flames, steps
from benchmarks.reporting.steps import FunctionCall
from benchmarks.servers import statements
from benchmarks.servers.sql import Sql
from benchmarks.servers.statements import StatementAccount, StatementCost, sum_of
from benchmarks.systems.profiler import sampling, stack_lines
from brandctl.local import postgres

BUSY = """
import asyncio, hashlib, sys, time, uvloop
from concurrent.futures import ThreadPoolExecutor

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass

def in_a_thread(seconds):
    data = bytes(10_000_000)
    end = time.thread_time() + seconds
    while time.thread_time() < end: hashlib.sha256(data).digest()

async def main():
    await asyncio.to_thread(time.sleep, 0.01)  # A thread that waits for work from now on.
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    spin(0.5)
    await asyncio.to_thread(in_a_thread, 0.5)
    print("done", flush=True)
    await asyncio.to_thread(sys.stdin.readline)

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
def test_a_sampled_process_shows_what_it_computes_in_its_loop_and_in_compiled_code_of_its_threads(
    tmp_path: Path, loop: str
) -> None:
    (tmp_path / "busy.py").write_text(BUSY.format(loop=loop))
    process = subprocess.Popen(
        [sys.executable, "busy.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        try:
            with sampling({"busy": process.pid}, tmp_path) as samplers:
                process.stdin.write("go\n")
                process.stdin.flush()
                assert process.stdout.readline() == "done\n"
                lines = samplers.end()["busy"]
        except MeasurementError as error:
            process.kill()
            pytest.skip(str(error))
        process.stdin.write("end\n")
        process.stdin.flush()
    functions: Counter[str] = Counter()
    for stack, count in steps.read(lines).items():
        assert not any("runpy" in frame for frame in stack)
        functions[stack[-1]] += count
    # A hundred samples a second; a busy machine gives fewer, and those at equal shares.
    assert functions["busy:spin"] > 10
    assert functions["busy:in_a_thread"] > 10


def test_without_the_sampler_or_the_right_to_use_it_the_measurement_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", os.defpath)
    with (
        pytest.raises(MeasurementError, match="py-spy, the sampler, is not installed"),
        sampling({}, tmp_path),
    ):
        pass
    program = tmp_path / "py-spy"
    program.write_text("#!/bin/sh\necho Permission denied\nexit 1\n")
    program.chmod(0o755)
    with (
        pytest.raises(
            MeasurementError, match="cannot sample social; it needs root or CAP_SYS_PTRACE: Permission denied"
        ),
        sampling({"social": os.getpid()}, tmp_path),
    ):
        pass


def test_files_become_modules_and_comprehensions_their_function() -> None:
    python = "/usr/lib/python3.11"
    raw = f"""\
_run_module_as_main (<frozen runpy>);<module> (/w/services/social/src/social/__main__.py);Runner.run ({python}/asyncio/runners.py);compose (/w/services/social/src/social/composing.py);compose.<locals>.<genexpr> (/w/services/social/src/social/composing.py) 3
Thread.run ({python}/threading.py);_worker ({python}/concurrent/futures/thread.py) 2
Runner.run ({python}/asyncio/runners.py);Pool.fetch (/w/.venv/lib/python3.11/site-packages/asyncpg/pool.py);__init__ (<string>) 1
run (/w/.venv/lib/python3.11/site-packages/uvloop/__init__.py) 1
 5
"""
    assert stack_lines(raw) == [
        "runpy:_run_module_as_main;social.__main__:<module>;asyncio.runners:Runner.run;social.composing:compose;social.composing:compose 3",
        "threading:Thread.run;concurrent.futures.thread:_worker 2",
        "asyncio.runners:Runner.run;asyncpg.pool:Pool.fetch;string:__init__ 1",
        "uvloop:run 1",
    ]
    assert steps.by_step(steps.read(stack_lines(raw))) == pytest.approx(
        {"social.composing": 3 / 7, "threads": 2 / 7, "database driver": 1 / 7, steps.IDLE: 1 / 7}
    )


def test_a_place_is_the_innermost_function_of_ours_and_the_library_it_called() -> None:
    assert steps.by_function(steps.read(LINES)) == pytest.approx(
        {
            FunctionCall("orchestrator.cycles.handlers:progress", "database driver"): 0.3,
            FunctionCall(steps.IDLE): 0.25,
            FunctionCall("writing.body.paragraphs:compose"): 0.2,
            FunctionCall("publisher.rendering:render"): 0.15,
            FunctionCall("orchestrator.cycles.handlers:progress"): 0.1,
        }
    )
    (place,) = steps.by_function({("asyncpg.protocol:receive",): 1})
    assert str(place) == "database driver"


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


@pytest.mark.extended
def test_the_database_says_what_each_statement_of_a_database_cost(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    loaded = statements.settings()
    if not loaded:
        pytest.skip("pg_stat_statements is not installed")
    server = postgres.launch(tmp_path / "postgres", durable=False, settings=loaded)
    try:
        server.wait()
        url = server.url.replace("/postgres", "/shop")
        with Sql(server.url) as admin:
            admin.execute("create database shop")
        with StatementAccount(server.url) as account, Sql(url) as shop:
            shop.execute("create table orders (id int)")
            account.begin()
            for number in range(3):
                shop.execute("insert into orders values ($1)", number)
            shop.execute("begin")
            shop.execute("select   count(*)\nfrom orders")
            shop.execute("commit")
            found = account.read()
    finally:
        server.stop()
    by_text = {each.text: each for each in found.of(url)}
    insert = by_text["insert into orders values ($1)"]
    assert (insert.calls, insert.rows) == (3, 3)
    assert insert.exec_ms > 0
    assert insert.wal_bytes > 0
    assert by_text["select count(*) from orders"].calls == 1
    assert [each.calls for each in found.of(url) if each.is_commit] == [1]
    assert found.wal_bytes >= insert.wal_bytes
    assert found.writing_transactions >= 3
    assert found.of(server.url.replace("/postgres", "/other")) == []


def test_costs_of_statements_are_shared_out_and_summed_up() -> None:
    one = StatementCost("select", 4, 2, 8.0, 1.0, 4, 100)
    assert one.per(2) == StatementCost("select", 2, 1, 4.0, 0.5, 2, 50)
    assert sum_of([one, one], "all") == StatementCost("all", 8, 4, 16.0, 2.0, 8, 200)
    assert sum_of([], "all").calls == 0
