"""The results of a run: the blocks and pictures of the document, even after a failed run."""

import io
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from benchmarks.__main__ import _measure
from benchmarks.measuring.drains import Drain, Gate, Round
from benchmarks.reporting import document, pictures
from benchmarks.reporting.document import DocumentError, Measurements
from benchmarks.reporting.output import ReportFiles, conclude
from benchmarks.reporting.results import ResultRow, RunProgress
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.throughput import TierEntry, compare
from benchmarks.servers.nodes import Nodes
from benchmarks.systems import selection
from benchmarks.systems.programs import System

PROJECT = ReportFiles(Path(__file__).parents[2])
CPU = {"broker": 0.014, "database": 0.01, "python": 0.03}
STACKS = "pipeline-quoting.stacks"
STATEMENT = {
    "text": "insert into posts (text) select a || b",
    "calls": 0.3,
    "plans": 0.25,
    "exec_ms": 0.5,
    "plan_ms": 0.125,
    "rows": 1.0,
    "wal_bytes": 3_002.0,
}
FLOOR = {
    "keywords": 600,
    "services_ms": {"python": 11.0, "database": 5.0, "broker": 1.5},
    "floor_ms": {"python": 7.0, "database": 3.0, "broker": 0.0},
    "added_ms": {"python": 4.0, "database": 2.0, "broker": 1.5},
    "added_to_floor": 0.75,
    "added_ms_by_step": {"event loop, sockets": 2.1, "threads": -0.2, "the rest": 2.1},
}
WORKER = {
    "samples": 900,
    "cpu_ms": {"python": 0.1041, "database": 0.0324, "broker": 0.025},
    "cpu_ms_by_function": [
        {"function": "messaging.flow.runner:QueueRunner._attempt", "through": "log lines", "ms": 0.0251},
        {"function": "event loop, sockets", "through": "", "ms": 0.02},
        {"function": "the rest", "through": "", "ms": 0.059},
    ],
}
BEHIND = "failed: no figure: does not keep up: 9 of 60,000 messages at the last one's time"
BROKEN = "failed: no figure: a | worker <ended> with code 1:\nthe end of its log"


def drain(system: str, rate: float, kind: str = "broker", *, tier: str = "T2") -> ResultRow:
    return ResultRow(
        "drain_idempotent",
        system,
        tier,
        msgs_per_s=rate,
        cpu_s_per_1k=CPU,
        ratio_to_ours=rate / 34_000,
        gate="none" if tier == "T0" else "passed",
        kind=kind,
        rounds=[rate, rate / 2],
        spread=0.5,
    )


def whole_run() -> list[ResultRow]:
    """A row, at least, of every scenario, as a whole run makes it."""
    kinds = {
        "ours": "ours",
        "raw_batched": "loop",
        "pgqueuer": "database",
        "procrastinate": "database",
        "dbos": "database",
    }
    drains = [
        drain(name, 34_765.4 / number, kinds.get(name, "broker"))
        for number, name in enumerate(selection.NAMES, 1)
    ]
    rates = [
        ResultRow(name, "ours", msgs_per_s=5_000.0, p50_ms=3.0, p99_ms=9.0, cpu_s_per_1k=CPU, gate="passed", extra=extra)
        for name, extra in {
            "outbox_chain": {"ratio_to_drain": 0.41}, "single_handler": {"ratio_to_drain": 0.4}, "dup_storm": {"ratio_to_unique": 0.96}, "latency_light": {}, "live_confirmed": {},
            "pipeline_keywords": {"cpu_ms_by_service": {"social": 2.0}}, "first_page": {}, "replay_flood": {}, "gateway_call": {},
        }.items()
    ]  # fmt: skip
    open_loops = [
        ResultRow(
            scenario,
            "raw_batched",
            msgs_per_s=5_000.0,
            p50_ms=6.0,
            p99_ms=18.0,
            ratio_to_ours=2.0,
            gate="passed",
            kind="loop",
            extra={"p99_ratio_to_ours": 0.5},
        )
        for scenario in ("latency_light", "live_confirmed")
    ]
    chain_peer = ResultRow(
        "outbox_chain", "faststream_outbox", msgs_per_s=900.0, ratio_to_ours=0.1, gate="passed", kind="broker"
    )
    open_loops.append(ResultRow("live_confirmed", "dramatiq", gate=BEHIND, kind="broker"))
    profile = {
        "keywords": 600,
        "stacks": STACKS,
        "cpu_ms_by_service": {"social": 3.0},
        "cpu_ms_by_step": {"social": {"social.domain": 2.0, "the rest": 1.0}},
        "statements": {"social": 6.2},
        "messages": {"social": 1.0},
        "commits": {"social": 0.3},
        "wal_bytes": 60_400,
        "writing_transactions": 2.5,
        "cpu_ms_by_function": {
            "social": [
                {"function": "social.domain:plan", "through": "", "ms": 1.5},
                {"function": "social.store:publish", "through": "database driver", "ms": 0.4},
                {"function": "database driver", "through": "", "ms": 0.1},
                {"function": "social.cutting:cut", "through": "", "ms": 0.04},
                {"function": "the rest", "through": "", "ms": 0.96},
            ]
        },
        "statement_costs": {"social": [STATEMENT, STATEMENT | {"text": "the rest", "exec_ms": 0.125}]},
    }
    return [
        *drains,
        drain("celery", 2_138, tier="T0"),
        drain("celery", 2_209, tier="T1"),
        *rates,
        *open_loops,
        chain_peer,
        ResultRow("pipeline_keywords", "ours, instant writer", msgs_per_s=60.0, gate="passed"),
        ResultRow("pipeline_profile", "ours", extra=profile),
        ResultRow("pipeline_profile", "ours, instant writer", extra=profile),
        ResultRow("worker_profile", "ours, single_handler", gate="passed", extra=WORKER),
        ResultRow("pipeline_floor", "ours", gate="passed", rounds=[0.7, 0.6, 0.8], extra=FLOOR),
        ResultRow("api_submit", "ours, 10,000 keywords", p50_ms=700.0, cpu_s_per_1k=CPU, gate="passed"),
        ResultRow("site_pages", "ours, 304", msgs_per_s=3_100.0, p50_ms=1.0, p99_ms=3.0, cpu_s_per_1k=CPU, gate="passed", extra={"per_s_of_a_core": 5_183.0, "bytes": 0, **WORKER}),
        ResultRow("site_pages", "nginx, 304", msgs_per_s=9_000.0, p50_ms=0.5, p99_ms=30.0, gate="passed", kind="comparison", extra={"per_s_of_a_core": 41_000.0, "bytes": 0}),
        ResultRow("corpus_index", "ours", cpu_s_per_1k=CPU, extra={"seconds": 12.0, "files": 1_000}),
        *(
            ResultRow(
                "corpus_search",
                f"ours, {documents:,} documents",
                extra={"documents": documents, "beside_smallest": 1.9, "files_a_second": 200, "rss_mb": 104.5},
            )
            for documents in (6_400, 100_000)
        ),
        ResultRow("data_growth", "ours", extra={"brands": 1_000, "largest_growth": 1.2}),
        ResultRow("corpus_index", "ours, unchanged", extra={"seconds": 0.1, "files": 1_000}),
        ResultRow("inbox_growth", "ours, 1e7", msgs_per_s=9.0, gate="passed", extra={"inbox_rows": 10**7, "ratio_to_smallest": 1.0}),
        ResultRow("backlog_growth", "ours, 1e6", msgs_per_s=9.0, gate="passed", extra={"backlog": 10**6, "ratio_to_smallest": 0.9}),
        ResultRow("prune_day", "ours, 5e6", p50_ms=53.0, extra={"rows": 5_000_000}),
        ResultRow("prune_day", "delete, 5e6", p50_ms=446.0, kind="comparison", extra={"rows": 5_000_000}),
        ResultRow("memory", "social", extra={"idle_rss_mb": 74.0}),
        ResultRow("memory", "worker", gate="passed", extra={"busy_rss_mb": 70.0, "drift_percent": 0.5}),
        ResultRow("console", "ours, pages", p50_ms=30.0, p99_ms=90.0, gate="passed", extra={"slowest_page_p95_ms": 80.0, "brands": 1_000}),
        ResultRow("console", "ours, in a browser", extra={"worst_ms": 600.0, "brands": 1_000}),
        ResultRow("console", "ours, at rest", extra={"console_rest_mb": 79.0, "brands": 1_000}),
        ResultRow("console", "ours, watched", extra={"watched_mb": 95.0, "watched_percent_of_a_core": 8.0, "brands": 1_000}),
        ResultRow("operator_pages", "ours, dead letters", extra={"slowest_page_p95_ms": 120.0, "dead_letters": 100_000}),
        ResultRow("operator_pages", "ours, a chain", extra={"worst_ms": 400.0, "keywords": 1_000}),
        ResultRow("ledger", "ours, the monitor", extra={"monitor_us_per_message": 5.0}),
        ResultRow("ledger", "ours, a sender", extra={"ratio_to_without_ledger": 0.97}),
        ResultRow("event_log", "ours, taken in", msgs_per_s=6_000.0, gate="passed"),
        ResultRow("event_log", "ours, pulled", msgs_per_s=2_500.0, gate="passed"),
        ResultRow("event_log", "ours, pages", p50_ms=9.0, gate="passed", extra={"p95_ms": 30.0, "kept_events": 10**7}),
        ResultRow("event_log", "ours, hooks answered", p50_ms=6.0, gate="passed", extra={"p95_ms": 12.0}),
        ResultRow("event_log", "ours, a day forgotten", gate="passed", extra={"worst_ms": 40.0}),
        ResultRow("event_log", "ours, watched live", gate="passed", extra={"streams": 500, "streams_mb": 40.0}),
        ResultRow("command_start", "brandctl submit", extra={"cpu_ms": 190.0, "ratio_to_libraries": 1.9}),
    ]  # fmt: skip


def measured(rows: Sequence[ResultRow], **others: Any) -> Measurements:
    surroundings = {
        "at": "2027-03-01T10:00:00Z",
        "seconds": 3725,
        "full": True,
        "sittings": 1,
        "processors": 2,
        "python": "3.11.2",
        "rounds": 5,
        "servers": {"rabbitmq": "3.10.8", "postgresql": "15.1 (Debian 15.1-1)"},
        "wanted": list(SCENARIOS),
        "scenarios": {row.scenario: {"seconds": 5} for row in rows},
    }
    return Measurements(rows, surroundings | others)


@pytest.fixture
def files(tmp_path: Path) -> ReportFiles:
    """A copy of the project's document and pictures, and what a profile left in build/."""
    copy = ReportFiles(tmp_path)
    copy.pictures.mkdir(parents=True)
    copy.output.mkdir()
    blank = re.sub(
        r"(<!-- measured: \S+ -->\n).*?(<!-- /measured)",
        r"\1old\n\2",
        PROJECT.document.read_text(),
        flags=re.DOTALL,
    )
    copy.document.write_text(blank)
    for picture in PROJECT.pictures.glob("bench-*.svg"):
        shutil.copy(picture, copy.pictures)
    (copy.output / STACKS).write_text("social;messaging.flow.runner:run;social.domain:compose 300\n")
    return copy


def concluded(files: ReportFiles, measurements: Measurements) -> dict[str, str]:
    """The blocks of the document after it; every picture it refers to is there, and every picture there is it refers to."""
    written = conclude(files, measurements, docs=True, console=Console(file=io.StringIO()))
    assert all(path.exists() for path in written)
    text = files.document.read_text()
    referred = re.findall(r"\(images/(bench-[^)]*)\)", text)
    assert sorted(referred) == sorted(path.name for path in files.pictures.glob("bench-*"))
    assert "## What limits it" in text
    return document.blocks(text)


# -- the document of the project ---------------------------------------------------------------------------------------


def test_the_document_can_be_renewed_and_refers_to_the_pictures_that_there_are() -> None:
    text = PROJECT.document.read_text()
    document.check(text)
    referred = re.findall(r"\(images/(bench-[^)]*)\)", text)
    assert sorted(referred) == sorted(path.name for path in PROJECT.pictures.glob("bench-*"))


@pytest.mark.skipif(
    not PROJECT.measurements.exists(),
    reason="the tables are older than docs/measurements.json, which comes with the next `make bench DOCS=1`",
)
def test_every_block_of_the_document_is_made_of_the_measurements_beside_it() -> None:
    text, measurements = PROJECT.document.read_text(), Measurements.read(PROJECT.measurements)
    drawn = {name for name in pictures.NAMES if (PROJECT.pictures / pictures.file_of(name)).exists()}
    assert document.blocks(text) == document.blocks(document.renew(text, measurements, drawn))


# -- what a run writes -------------------------------------------------------------------------------------------------


def test_a_whole_run_renews_every_block_and_every_picture(files: ReportFiles) -> None:
    blocks = concluded(files, measured(whole_run()))
    assert not [name for name, told in blocks.items() if told.strip() in ("", "old")]
    assert {path.name for path in files.pictures.iterdir()} == {
        pictures.file_of(name) for name in pictures.NAMES
    }
    assert "RabbitMQ 3.10.8, PostgreSQL 15.1" in blocks["surroundings"]
    assert "Without" not in blocks["surroundings"]
    assert "| **ours** | **34,765** | 50% | 0.014 | 0.010 | 0.030 | 1.02 |" in blocks["drains"]
    assert "| Celery | 2,138 | 2,209 | 6,953 |" in blocks["tiers"]
    assert "| outbox_chain beside the drain | ≥ 0.4x | 0.41x | reached |" in blocks["goals"]
    assert "not measured" not in blocks["goals"]
    assert "| **ours** | **3** | **9** | **3** | **9** |" in blocks["latencies"]
    assert "| FastStream with inbox and outbox | 900 |" in blocks["chains"]
    assert "calls to other systems, takes 5,000 messages/s" in blocks["single"]
    assert blocks["pages"].splitlines()[2:] == [
        "| ours, 304 | 3,100 | 5,183 | 1 | 3 | 0 |",
        "| nginx, 304 | 9,000 | 41,000 | 0.5 | 30 | 0 |",
    ]
    assert "| site_pages, of a core | ≥ 10,000/s | 5,183/s | **missed** |" in blocks["goals"]
    assert "| site_pages p99 at half of that | ≤ 10 ms | 3 ms | reached |" in blocks["goals"]
    assert "| Dramatiq | not run |  | does not keep up |  |" in blocks["latencies"]
    assert "| live_confirmed p50 beside the raw batched loop | ≤ 1x | 0.5x | reached |" in blocks["goals"]
    assert "| live_confirmed p99 beside the raw batched loop | ≤ 1x | 2x | **missed** |" in blocks["goals"]
    assert "| social | 3.0 | 1 | 6.2 | 0.3 | social.domain 2, the rest 1 |" in blocks["keyword"]
    assert (
        "over 600 keywords (each writes 60 kB of the database's log, in 2.5 transactions)"
        in blocks["keyword"]
    )
    assert blocks["functions"].splitlines()[2:] == [
        "| social | `social.domain:plan` |  | 1.50 |",
        "| social | `social.store:publish` | database driver | 0.40 |",
        "| social | database driver |  | 0.10 |",
        "| social | the rest | | 1.00 |",
    ]
    assert blocks["statements"].splitlines()[2:] == [
        "| social | `insert into posts (text) select a \\|\\| b` | 0.30 | 0.25 | 0.62 | 0.12 | 3,002 |",
        "| social | the rest | 0.30 | 0.25 | 0.25 | 0.12 | 3,002 |",
    ]
    assert blocks["floor"].splitlines()[4:] == [
        "| through the services | 11.00 | 5.00 | 1.50 | 17.50 |",
        "| the floor | 7.00 | 3.00 | 0.00 | 10.00 |",
        "| added by the services | 4.00 | 2.00 | 1.50 | 7.50 |",
        "",
        "The services add 0.75 times the floor.",
        "",
        "Of Python's part they add, sampled in a turn of its own:",
        "",
        "| step | CPU ms |",
        "|---|---|",
        "| event loop, sockets | 2.1 |",
        "| threads | -0.2 |",
        "| the rest | 2.1 |",
    ]
    assert blocks["workers"].splitlines() == [
        "`single_handler`: Python 104 µs a message; beside it database 32.4, broker 25.",
        "",
        "| function | called | CPU µs |",
        "|---|---|---|",
        "| `messaging.flow.runner:QueueRunner._attempt` | log lines | 25.1 |",
        "| event loop, sockets |  | 20 |",
        "| the rest |  | 59 |",
        "",
        "`site_pages`: Python 104 µs a page; beside it database 32.4, broker 25.",
        *blocks["workers"].splitlines()[1:7],
    ]
    assert "CPU ms for a keyword, the median of 3 turns of 600 keywords each" in blocks["floor"]
    assert (
        "| pipeline_floor, what the services add to the floor | ≤ 0.6x | 0.75x | **missed** |"
        in blocks["goals"]
    )
    assert "| a dead letter sent again and handled (`replay_flood`) |" in blocks["costs"]
    assert blocks["costs"].count("`drain_idempotent`") == 1


def test_what_was_written_can_be_read_again_and_gives_the_same_document(files: ReportFiles) -> None:
    concluded(files, measured(whole_run()))
    text, again = files.document.read_text(), Measurements.read(files.measurements)
    assert again == measured(whole_run())
    assert document.renew(text, again, pictures.NAMES) == text


@pytest.mark.extended
def test_every_scenario_may_be_missing_or_broken_and_the_document_says_so(files: ReportFiles) -> None:
    for scenario in SCENARIOS:
        others = [row for row in whole_run() if row.scenario != scenario]
        assert f"- `{scenario}`: not run" in concluded(files, measured(others))["surroundings"]
        blocks = concluded(files, measured([*others, ResultRow(scenario, "ours", gate=BROKEN)]))
        told = "failed: no figure: a \\| worker &lt;ended> with code 1:\n"
        assert f"- `{scenario}`, ours: {told}" in blocks["surroundings"] + "\n"
        for name in ("drains", "chains", "latencies", "goals", "costs"):
            assert all(line.startswith("|") for line in blocks[name].strip().splitlines())
            assert (
                len({re.sub(r"\\\|", "", line).count("|") for line in blocks[name].strip().splitlines()}) == 1
            )


def test_a_goal_says_which_gate_it_lacks_its_figure_for(files: ReportFiles) -> None:
    rows = [row for row in whole_run() if row.scenario != "outbox_chain"]
    rows.append(
        ResultRow("outbox_chain", "ours", msgs_per_s=9.0, cpu_s_per_1k=CPU, gate="failed: 1 lost, 0 doubled")
    )
    blocks = concluded(files, measured(rows))
    assert (
        "| outbox_chain beside the drain | ≥ 0.4x |  | not measured: failed: 1 lost, 0 doubled |"
        in blocks["goals"]
    )
    assert "outbox_chain" not in blocks["costs"]


def test_peers_that_are_not_installed_are_named_in_the_table(files: ReportFiles) -> None:
    rows = [row for row in whole_run() if row.kind in ("ours", "comparison")]
    rows.append(
        ResultRow("drain_idempotent", "dbos", gate="skipped: its environment is not there", kind="peer")
    )
    blocks = concluded(files, measured(rows))
    assert "| DBOS queue | no figure: skipped: its environment is not there |" in blocks["drains"]
    assert blocks["tiers"].strip() == "This run has no figures of weaker tiers."
    assert "- `drain_idempotent`" not in blocks["surroundings"]
    assert "| drain_idempotent beside Celery | ≥ 10x |  | not measured |" in blocks["goals"]


def test_a_run_without_any_figure_leaves_no_picture_of_an_older_one(files: ReportFiles) -> None:
    (files.output / STACKS).unlink()
    blocks = concluded(files, measured([], scenarios={}, seconds=0))
    assert not list(files.pictures.glob("bench-*"))
    assert blocks["picture-throughput"].startswith("(No picture of this")
    concluded(files, measured(whole_run()))  # and a later one finds its places again


def test_what_a_profile_of_another_run_left_is_not_drawn(files: ReportFiles) -> None:
    (files.output / STACKS).write_text("monitor;messaging.flow.runner:run 300\n")
    assert concluded(files, measured(whole_run()))["picture-flames"].startswith("(No picture")


def test_a_run_in_several_sittings_says_so(files: ReportFiles) -> None:
    blocks = concluded(files, measured(whole_run(), sittings=3, rounds=1, full=False))
    assert "One quick run of 2027-03-01, 62 minutes in 3 sittings" in blocks["surroundings"]
    assert "one round, in which" in blocks["surroundings"]


@pytest.mark.parametrize("change", ["a block less", "a strange one", "one of them twice"])
def test_a_document_whose_blocks_are_not_those_of_the_measurements_is_refused(change: str) -> None:
    text, mark = PROJECT.document.read_text(), "<!-- measured: costs -->"
    strange = mark.replace("costs", "weather") + "\n<!-- /measured -->\n"
    changed = {
        "a block less": text.replace(mark, ""),
        "a strange one": text + strange,
        "one of them twice": text + strange.replace("weather", "costs"),
    }[change]
    with pytest.raises(DocumentError, match="blocks of the document"):
        document.check(changed)


# -- interruptions -----------------------------------------------------------------------------------------------------


def test_a_run_that_was_interrupted_is_gone_on_with_unless_it_was_asked_for_something_else(
    tmp_path: Path,
) -> None:
    wishes = {"full": True, "rounds": None}
    progress = RunProgress(tmp_path, wishes)
    progress.add("drain_idempotent", [ResultRow("drain_idempotent", "ours")], {"seconds": 5}, None)
    progress.add("memory", [], {"seconds": 6}, {"busy_rss_mb": 70.0})
    again = RunProgress.read(tmp_path, wishes)
    assert (again.rows, list(again.took), again.worker_memory) == (
        progress.rows,
        ["drain_idempotent", "memory"],
        {"busy_rss_mb": 70.0},
    )
    assert again.sittings == 2
    assert json.loads((tmp_path / "bench.json").read_text())[0]["system"] == "ours"
    other = wishes | {"rounds": 3}
    assert RunProgress.read(tmp_path, other) == RunProgress(tmp_path, other)
    assert RunProgress.read(tmp_path / "elsewhere", wishes).took == {}


def test_a_look_at_one_scenario_leaves_the_run_that_was_interrupted_alone(tmp_path: Path) -> None:
    whole = RunProgress(tmp_path, {"full": True})
    whole.add("drain_idempotent", [drain("ours", 9.0, "ours")], {"seconds": 5}, None)
    RunProgress(tmp_path, None).add("memory", [ResultRow("memory", "social")], {"seconds": 5}, None)
    assert RunProgress.read(tmp_path, {"full": True}).rows == whole.rows


def test_what_has_no_figure_of_ours_is_measured_again(tmp_path: Path) -> None:
    progress = RunProgress(tmp_path, {})
    rows = [drain("ours", 9.0, "ours"), ResultRow("drain_idempotent", "dbos", gate=BROKEN, kind="database")]
    progress.add("drain_idempotent", rows, {"seconds": 5}, None)
    progress.add("inbox_growth", [ResultRow("inbox_growth", "ours", gate=BROKEN)], {"seconds": 5}, None)
    again = RunProgress.read(tmp_path, {})
    assert (again.rows, list(again.took)) == (rows, ["drain_idempotent"])


def test_a_system_that_breaks_is_left_out_of_further_rounds_and_the_others_are_measured(
    tmp_path: Path,
) -> None:
    class Servers(Drain):
        def gate(self, system: System, tier: str, unique: int) -> Gate:
            return Gate("passed", 300.0)

        def measure(self, system: System, tier: str, unique: int, *, template: str | None = None) -> Round:
            if system.name == "celery":
                raise OSError("gone")
            return Round(300.0, CPU, unique, 10.0)

    run = BenchmarkRun(cast("Nodes", None), tmp_path, full=False, systems=[], wanted_rounds=2)
    systems = [System("ours", (), "ours", 300.0), System("celery", (), "broker", 300.0)]
    entries = [TierEntry(system, "T2", rate=system.guess) for system in systems]
    ours, celery = compare(run, "drain_idempotent", Servers(run.nodes, log=print), entries)
    assert (ours.gate, ours.rounds) == ("passed", [300.0, 300.0])
    assert (celery.gate, celery.rounds) == ("failed: no figure: OSError: gone", [])


@pytest.mark.parametrize(("ending", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_a_scenario_that_breaks_costs_its_own_figures_and_an_interruption_none_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: BaseException, code: int
) -> None:
    def raises(error: BaseException) -> Callable[[BenchmarkRun], list[ResultRow]]:
        def scenario(_: BenchmarkRun) -> list[ResultRow]:
            raise error

        return scenario

    monkeypatch.setitem(SCENARIOS, "outbox_chain", raises(OSError("no server\nat all")))
    monkeypatch.setitem(SCENARIOS, "single_handler", lambda _: [ResultRow("single_handler", "ours")])
    monkeypatch.setitem(SCENARIOS, "dup_storm", raises(ending))
    run = BenchmarkRun(cast("Nodes", None), tmp_path, full=True, systems=[])
    progress = RunProgress(tmp_path, {})
    names = ["outbox_chain", "single_handler", "dup_storm", "latency_light"]
    assert _measure(run, names, {}, progress) == code
    assert [(row.scenario, row.gate) for row in progress.rows] == [
        ("outbox_chain", "failed: no figure: OSError: no server\nat all"),
        ("single_handler", "none"),
    ]
    assert list(RunProgress.read(tmp_path, {}).took) == ["single_handler"]
