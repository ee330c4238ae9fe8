"""The goals, and their results: reached, missed, or not measured. Misses are printed as misses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.reporting.results import ResultRow

State = Literal["reached", "missed", "not measured"]

_FILES: Final = 1_000
_BRANDS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on one figure; `figure` finds it among the rows, and returns None if it was not measured."""

    name: str
    figure: Callable[[Sequence[ResultRow]], float | None]
    bound: float
    unit: str = ""
    at_most: bool = False

    @property
    def scenario(self) -> str:
        """The first word of its name."""
        return scenario_of(self.name)


@dataclass(frozen=True, slots=True)
class GoalResult:
    """The result of a goal, as in build/goals.json."""

    name: str
    wanted: str
    measured: float | None
    state: State
    unit: str = ""
    of_bound: float | None = None
    """1 if the bound is just reached, more if it is surpassed."""
    why: str = ""
    """Why a goal was not measured, where the reason is a failed gate."""

    @property
    def scenario(self) -> str:
        """The first word of its name."""
        return scenario_of(self.name)


def scenario_of(goal_name: str) -> str:
    """The scenario that a goal is about, by the goal's name."""
    return goal_name.split(maxsplit=1)[0].strip(",")


def judge(rows: Sequence[ResultRow]) -> list[GoalResult]:
    """Only figures with a passed gate count."""
    counting = [row for row in rows if row.counts]
    return [_outcome(goal, goal.figure(counting), rows) for goal in GOALS]


def _outcome(goal: Goal, measured: float | None, rows: Sequence[ResultRow]) -> GoalResult:
    wanted = f"{'≤' if goal.at_most else '≥'} {goal.bound:,g}{goal.unit}"
    if measured is None:
        of_ours = (row for row in rows if (row.scenario, row.kind) == (goal.scenario, "ours"))
        gates = (row.gate for row in of_ours if not row.counts)
        return GoalResult(goal.name, wanted, None, "not measured", goal.unit, why=next(gates, ""))
    reached = measured <= goal.bound if goal.at_most else measured >= goal.bound
    better, worse = (goal.bound, measured) if goal.at_most else (measured, goal.bound)
    of_bound = better / worse if worse else None
    return GoalResult(goal.name, wanted, measured, "reached" if reached else "missed", goal.unit, of_bound)


# -- finding figures ---------------------------------------------------------------------------------------------------


def _of(rows: Sequence[ResultRow], scenario: str, system: str = "ours") -> ResultRow | None:
    found = [row for row in rows if (row.scenario, row.system, row.tier) == (scenario, system, "T2")]
    return found[0] if found else None


def _rate(scenario: str, system: str = "ours") -> Callable[[Sequence[ResultRow]], float | None]:
    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, scenario, system)
        return row.msgs_per_s if row else None

    return figure


def _p50(scenario: str, system: str = "ours") -> Callable[[Sequence[ResultRow]], float | None]:
    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, scenario, system)
        return row.p50_ms if row else None

    return figure


def _p99(scenario: str, system: str = "ours") -> Callable[[Sequence[ResultRow]], float | None]:
    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, scenario, system)
        return row.p99_ms if row else None

    return figure


def _times(system: str, scenario: str = "drain_idempotent") -> Callable[[Sequence[ResultRow]], float | None]:
    """The ratio of our rate to the other's."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, scenario, system)
        return 1 / row.ratio_to_ours if row and row.ratio_to_ours and _of(rows, scenario) else None

    return figure


def _beside_raw(scenario: str, part: Literal["p50", "p99"]) -> Callable[[Sequence[ResultRow]], float | None]:
    """The ratio of our time to that of the raw loop with our batching, in the same run."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, scenario, "raw_batched")
        if row is None or not _of(rows, scenario):
            return None
        ratio: float | None = row.ratio_to_ours if part == "p50" else row.extra.get("p99_ratio_to_ours")
        return 1 / ratio if ratio else None

    return figure


def _times_best_per_message(rows: Sequence[ResultRow]) -> float | None:
    peers = [
        row.ratio_to_ours
        for row in rows
        if (row.scenario, row.tier, row.kind) == ("drain_idempotent", "T2", "broker") and row.ratio_to_ours
    ]
    return 1 / max(peers) if peers and _of(rows, "drain_idempotent") else None


def _extra(
    scenario: str, key: str, choose: Callable[[list[float]], float]
) -> Callable[[Sequence[ResultRow]], float | None]:
    """A figure of the scenario, over all our rows that have it."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        values = [
            float(row.extra[key])
            for row in rows
            if (row.scenario, row.kind) == (scenario, "ours") and key in row.extra
        ]
        return choose(values) if values else None

    return figure


def _seconds_of_all(system: str) -> Callable[[Sequence[ResultRow]], float | None]:
    """None for a quick run, which has fewer files than the goal requires."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, "corpus_index", system)
        return row.extra["seconds"] if row and row.extra["files"] >= _FILES else None

    return figure


def _of_agency(key: str, scenario: str = "console") -> Callable[[Sequence[ResultRow]], float | None]:
    """The largest figure beside the whole stock; None for a quick run, which has less of it."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        values = [
            float(row.extra[key])
            for row in rows
            if row.scenario == scenario and key in row.extra and row.extra["brands"] >= _BRANDS
        ]
        return max(values, default=None)

    return figure


def _of_operators(stock: str, least: int, key: str) -> Callable[[Sequence[ResultRow]], float | None]:
    """None for a quick run, which has less of the stock."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        values = [
            float(row.extra[key])
            for row in rows
            if row.scenario == "operator_pages" and key in row.extra and row.extra.get(stock, 0) >= least
        ]
        return max(values, default=None)

    return figure


def _of_event_log(system: str, key: str, least: int = 0) -> Callable[[Sequence[ResultRow]], float | None]:
    """None for a quick run, which keeps fewer events and has fewer streams."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        row = _of(rows, "event_log", system)
        if row is None or max(row.extra.get("kept_events", 0), row.extra.get("streams", 0)) < least:
            return None
        return row.msgs_per_s if key == "msgs_per_s" else row.extra.get(key)

    return figure


def _largest_p99(scenario: str) -> Callable[[Sequence[ResultRow]], float | None]:
    def figure(rows: Sequence[ResultRow]) -> float | None:
        found = [
            row.p99_ms
            for row in rows
            if (row.scenario, row.kind) == (scenario, "ours") and row.p99_ms is not None
        ]
        return max(found, default=None)

    return figure


def _beside_smallest(documents: int) -> Callable[[Sequence[ResultRow]], float | None]:
    """Processor time of a search beside so many documents, as a ratio to that beside the fewest."""

    def figure(rows: Sequence[ResultRow]) -> float | None:
        found = [row.extra for row in rows if row.scenario == "corpus_search"]
        ratios = [float(each["beside_smallest"]) for each in found if each.get("documents") == documents]
        return ratios[0] if ratios else None

    return figure


def _slowest_prune(rows: Sequence[ResultRow]) -> float | None:
    times = [row.p50_ms for row in rows if row.scenario == "prune_day" and row.kind == "ours" and row.p50_ms]
    return max(times, default=None)


GOALS: Final = (
    Goal("drain_idempotent beside the raw batched loop", _times("raw_batched"), 2.2, "x"),
    Goal("drain_idempotent beside the best per-message peer on RabbitMQ", _times_best_per_message, 5, "x"),
    Goal("drain_idempotent beside Celery", _times("celery"), 10, "x"),
    Goal("drain_idempotent beside pgqueuer", _times("pgqueuer"), 1.5, "x"),
    Goal("outbox_chain beside the drain", _extra("outbox_chain", "ratio_to_drain", min), 0.4, "x"),
    Goal(
        "outbox_chain beside FastStream with an outbox", _times("faststream_outbox", "outbox_chain"), 5, "x"
    ),
    Goal("single_handler beside the drain", _extra("single_handler", "ratio_to_drain", min), 0.45, "x"),
    Goal("dup_storm beside the rate without copies", _extra("dup_storm", "ratio_to_unique", min), 1.2, "x"),
    Goal(
        "latency_light p50 beside the raw batched loop",
        _beside_raw("latency_light", "p50"),
        1,
        "x",
        at_most=True,
    ),
    Goal(
        "latency_light p99 beside the raw batched loop",
        _beside_raw("latency_light", "p99"),
        1,
        "x",
        at_most=True,
    ),
    Goal(
        "live_confirmed p50 beside the raw batched loop",
        _beside_raw("live_confirmed", "p50"),
        1,
        "x",
        at_most=True,
    ),
    Goal(
        "live_confirmed p99 beside the raw batched loop",
        _beside_raw("live_confirmed", "p99"),
        1,
        "x",
        at_most=True,
    ),
    Goal(
        "pipeline_floor, what the services add to the floor",
        _extra("pipeline_floor", "added_to_floor", max),
        0.6,
        "x",
        at_most=True,
    ),
    Goal("first_page p50", _p50("first_page"), 120, " ms", at_most=True),
    Goal("first_page p99", _p99("first_page"), 300, " ms", at_most=True),
    Goal("api_submit of 10,000", _p50("api_submit", "ours, 10,000 keywords"), 2_000, " ms", at_most=True),
    Goal("replay_flood", _rate("replay_flood"), 5_000, "/s"),
    Goal("site_pages, of a core", _extra("site_pages", "per_s_of_a_core", min), 10_000, "/s"),
    Goal("site_pages p99 at half of that", _largest_p99("site_pages"), 10, " ms", at_most=True),
    Goal("corpus_index of 1,000 files", _seconds_of_all("ours"), 20, " s", at_most=True),
    Goal("corpus_index of 1,000 files, unchanged", _seconds_of_all("ours, unchanged"), 1, " s", at_most=True),
    Goal("corpus_search, of 6,400 documents beside 100", _beside_smallest(6_400), 2, "x", at_most=True),
    Goal("corpus_search, of 100,000 documents beside 100", _beside_smallest(100_000), 4, "x", at_most=True),
    Goal("corpus_search, files read", _extra("corpus_search", "files_a_second", max), 180, "/s"),
    Goal(
        "corpus_search, memory of research",
        _extra("corpus_search", "rss_mb", max),
        150,
        " MB",
        at_most=True,
    ),
    Goal("gateway_call p50", _p50("gateway_call"), 3, " ms", at_most=True),
    Goal(
        "inbox_growth beside the smallest inbox", _extra("inbox_growth", "ratio_to_smallest", min), 0.95, "x"
    ),
    Goal(
        "backlog_growth beside the smallest backlog",
        _extra("backlog_growth", "ratio_to_smallest", min),
        0.95,
        "x",
    ),
    Goal(
        "data_growth, the read that grows most with its brand",
        _of_agency("largest_growth", "data_growth"),
        1.3,
        "x",
        at_most=True,
    ),
    Goal("prune_day, the largest day", _slowest_prune, 100, " ms", at_most=True),
    Goal("memory of a service at rest", _extra("memory", "idle_rss_mb", max), 60, " MB", at_most=True),
    Goal("memory of a worker after the run", _extra("memory", "busy_rss_mb", max), 80, " MB", at_most=True),
    Goal("memory drift of a worker", _extra("memory", "drift_percent", max), 5, " %", at_most=True),
    Goal(
        "console, p95 of the slowest page",
        _of_agency("slowest_page_p95_ms"),
        100,
        " ms",
        at_most=True,
    ),
    Goal("console, first page in a browser", _of_agency("worst_ms"), 1_000, " ms", at_most=True),
    Goal("console at rest", _extra("console", "console_rest_mb", max), 80, " MB", at_most=True),
    Goal("console with 300 people watching", _of_agency("watched_mb"), 100, " MB", at_most=True),
    Goal(
        "console with 300 people watching, of a core",
        _of_agency("watched_percent_of_a_core"),
        10,
        " %",
        at_most=True,
    ),
    Goal(
        "operator_pages, p95 of the slowest of 100,000 dead letters",
        _of_operators("dead_letters", 100_000, "slowest_page_p95_ms"),
        150,
        " ms",
        at_most=True,
    ),
    Goal(
        "operator_pages, a chain of 1,000 keywords",
        _of_operators("keywords", 1_000, "worst_ms"),
        500,
        " ms",
        at_most=True,
    ),
    Goal("ledger in the monitor", _extra("ledger", "monitor_us_per_message", max), 10, " µs", at_most=True),
    Goal(
        "ledger, outbox_chain beside itself without it",
        _extra("ledger", "ratio_to_without_ledger", min),
        0.95,
        "x",
    ),
    Goal("event_log, taken in", _of_event_log("ours, taken in", "msgs_per_s"), 5_000, "/s"),
    Goal("event_log, pulled by two readers", _of_event_log("ours, pulled", "msgs_per_s"), 2_000, "/s"),
    Goal(
        "event_log, p95 of a page beside 10,000,000 events",
        _of_event_log("ours, pages", "p95_ms", 10**7),
        50,
        " ms",
        at_most=True,
    ),
    Goal(
        "event_log, p95 of the answer to an incoming webhook",
        _of_event_log("ours, hooks answered", "p95_ms"),
        50,
        " ms",
        at_most=True,
    ),
    Goal(
        "event_log, a day forgotten",
        _of_event_log("ours, a day forgotten", "worst_ms"),
        100,
        " ms",
        at_most=True,
    ),
    Goal(
        "event_log, 500 live streams",
        _of_event_log("ours, watched live", "streams_mb", 500),
        60,
        " MB",
        at_most=True,
    ),
    Goal(
        "command_start beside loading its libraries",
        _extra("command_start", "ratio_to_libraries", max),
        2.5,
        "x",
        at_most=True,
    ),
)
