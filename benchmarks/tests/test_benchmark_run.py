"""The frame on real servers: one tiny drain of ours, and a gate that sees what went missing or happened twice."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from benchmarks.load import feeder
from benchmarks.load.messages import envelope, row_of
from benchmarks.measuring import effects
from benchmarks.measuring.drains import Drain, ids_in
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import latency, worker_profile
from benchmarks.scenarios.console import console
from benchmarks.servers import nodes
from benchmarks.servers.nodes import Nodes
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs, static_server


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with nodes.running(tmp_path_factory.mktemp("bench")) as started:
        yield started


@pytest.mark.extended
def test_a_tiny_drain_of_ours_gives_a_rate_and_where_the_processor_time_went(servers: Nodes) -> None:
    one = Drain(servers, log=print).measure(programs.ours(), "T2", 2_000)
    assert one.msgs_per_s > 0
    assert one.cpu_s_per_1k is not None
    assert all(seconds >= 0 for seconds in one.cpu_s_per_1k.values())
    assert one.cpu_s_per_1k["python"] > 0


@pytest.mark.extended
def test_the_gate_of_ours_passes_with_copies_and_a_killed_worker(servers: Nodes) -> None:
    assert Drain(servers, log=print).gate(programs.ours(), "T2", 1_500).verdict == "passed"


@pytest.mark.extended
def test_a_slow_open_loop_of_ours_gives_times(servers: Nodes, tmp_path: Path) -> None:
    run = BenchmarkRun(servers, tmp_path, full=False, systems=[])
    load = latency.measure(run, programs.ours(), 20, 2)
    assert load.sent == 80
    assert load.latency.messages <= 40
    assert 0 < load.latency.p50 <= load.latency.p99 <= load.latency.worst


@pytest.mark.extended
@pytest.mark.parametrize("scenario", ["outbox_chain", "dup_storm", "latency_light"])
def test_a_watched_worker_shows_what_a_message_costs_function_by_function(
    servers: Nodes, tmp_path: Path, scenario: str
) -> None:
    row = worker_profile.profile(BenchmarkRun(servers, tmp_path, full=False, systems=[]), scenario)
    if "py-spy" in row.gate:
        pytest.skip(row.gate)
    assert row.counts, row.gate
    functions = row.extra["cpu_ms_by_function"]
    assert sum(each["ms"] for each in functions) == pytest.approx(row.extra["cpu_ms"]["python"], abs=0.01)
    assert any(each["function"].startswith("messaging.") for each in functions)
    assert "messaging." in (tmp_path / f"worker-{scenario}-functions.txt").read_text()


@pytest.mark.extended
def test_nginx_serves_the_page_compressed_and_knows_a_copy_of_it(tmp_path: Path) -> None:
    page = b"<!doctype html><p>" + b"A page of a site. " * 400
    if static_server.program() is None:
        pytest.skip("nginx is not installed")
    with static_server.nginx(tmp_path, page) as server:
        whole = httpx.get(server.url, headers={"Accept-Encoding": "gzip"}, trust_env=False)
        again = httpx.get(server.url, headers={"If-None-Match": whole.headers["etag"]}, trust_env=False)
    assert whole.content == page
    assert whole.headers["content-encoding"] == "gzip"
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.extended
def test_a_system_that_does_not_keep_up_has_no_figure(servers: Nodes, tmp_path: Path) -> None:
    program = tmp_path / "idle.py"
    program.write_text(_IDLE)
    idle = programs.System("idle", (sys.executable, str(program)), "broker", 1.0, feeding="itself")
    run = BenchmarkRun(servers, tmp_path, full=False, systems=[])
    with pytest.raises(latency.BehindError, match="does not keep up: 0 of 60 messages"):
        latency.measure(run, idle, 20, 1)


_IDLE = """
import json, signal, sys
match sys.argv[1]:
    case "work":
        print("ready", flush=True)
        signal.sigwait({signal.SIGTERM})
    case "feed":
        print(json.dumps({"began_at": "2027-01-01T00:00:00+00:00", "sent": 60, "refused": 0, "worst_lag_ms": 0}))
"""


def test_messages_are_fed_in_the_form_of_each_library() -> None:
    row = row_of(envelope(7, datetime(2027, 1, 1, tzinfo=UTC)))
    assert feeder.FORMS["ours"](row) == row
    plain, actor = feeder.FORMS["plain"](row), feeder.FORMS["dramatiq"](row)
    assert (plain.exchange, plain.routing_key, plain.body) == ("", "research", row.body)
    told = json.loads(actor.body)
    assert (told["actor_name"], told["kwargs"]) == ("on_research_requested", {})
    assert told["args"] == [json.loads(row.body)]


def test_effects_are_judged_and_timed_by_their_commits(servers: Nodes, tmp_path: Path) -> None:
    ids = [str(uuid4()) for _ in range(20)]
    path = tmp_path / "sent.jsonl"
    path.write_text("".join(json.dumps({"event_id": one}) + "\n" for one in [*ids, ids[0]]))
    with servers.database() as url, Sql(url) as sql:
        effects.create(sql)
        insert = "insert into effects values ($1, 'a keyword', now() - interval '5 ms')"
        for one in ids[:-1]:
            sql.execute(insert, one)
        assert str(effects.judge(sql, ids_in(path))) == "failed: 1 lost, 0 doubled, 0 foreign of 20"
        sql.execute(insert, ids[-1])
        assert effects.judge(sql, ids_in(path)).passed
        sql.execute(insert, ids[0])
        assert str(effects.judge(sql, ids_in(path))) == "failed: 0 lost, 1 doubled, 0 foreign of 20"
        window = effects.window(sql, skip=5)
        assert window.messages == 16
        assert window.seconds > 0
        assert effects.window(sql, skip=5, up_to=10).messages == 5
        measured = effects.latency(sql, sent_from=window.begin.replace(year=2000))
        assert measured.messages == 21
        assert 5 <= measured.p50 <= measured.p99 <= measured.worst


@pytest.mark.slow
def test_the_console_is_measured_beside_a_small_agency(servers: Nodes, tmp_path: Path) -> None:
    rows = {row.system: row for row in console(BenchmarkRun(servers, tmp_path, full=False, systems=[]))}
    assert {row.gate for name, row in rows.items() if name != "ours, in a browser"} == {"passed"}
    assert rows["ours, pages"].extra["slowest_page_p95_ms"] > 0
    assert rows["ours, watched"].extra["watched_mb"] > 0
