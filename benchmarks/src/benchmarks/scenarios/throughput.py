"""How fast a prefilled queue is drained: beside other systems, with the other handler shape, with every message doubled."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from benchmarks.measuring.drains import Drain, Gate, Round
from benchmarks.reporting.results import NO_FIGURE, NO_GATE, ResultRow, no_figure, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.chain import Chain
from benchmarks.systems import programs
from benchmarks.systems.programs import System

_SMALLEST: Final = 300
_LARGEST: Final = 400_000
_WEAKER_ROUNDS: Final = 3
"""Rounds of the less important tiers."""


@dataclass(slots=True)
class TierEntry:
    """A system at a tier, with its rounds so far."""

    system: System
    tier: str
    gate: str = "skipped: not asked for"
    rate: float = 0.0
    rounds: list[Round] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.system.name} {self.tier}"

    @property
    def out(self) -> bool:
        """Whether a failure makes further rounds pointless."""
        return self.gate.startswith(NO_FIGURE)


def drain_idempotent(run: BenchmarkRun) -> list[ResultRow]:
    entries = [
        TierEntry(system, tier, rate=system.guess) for system in run.systems for tier in tiers(run, system)
    ]
    return compare(run, "drain_idempotent", Drain(run.nodes, log=run.log), entries)


def tiers(run: BenchmarkRun, system: System) -> Sequence[str]:
    """The weaker guarantees are measured in full runs only; they are compared in a table of their own."""
    return system.tiers if run.full else [tier for tier in system.tiers if tier == "T2"]


def single_handler(run: BenchmarkRun) -> list[ResultRow]:
    return beside_the_drain(run, "single_handler", Drain(run.nodes, log=run.log), [ours("single")])


def outbox_chain(run: BenchmarkRun) -> list[ResultRow]:
    peers = [TierEntry(system, "T2", rate=system.guess) for system in run.chain_systems]
    return beside_the_drain(run, "outbox_chain", Chain(run.nodes, log=run.log), [ours("outbox"), *peers])


def dup_storm(run: BenchmarkRun) -> list[ResultRow]:
    """Drains with every message doubled; deliveries per second beside those without copies, in turn."""
    storm, plain = ours("drain"), ours("drain")
    calm = Drain(run.nodes, log=run.log)
    stormy = Drain(run.nodes, duplicates=0.5, log=run.log)
    pass_gate(run, stormy, storm)
    for number in range(1, run.rounds + 1):
        measure(run, f"dup_storm {number}/{run.rounds} without copies", calm, plain)
        storm.rate = plain.rate
        measure(run, f"dup_storm {number}/{run.rounds} every message twice", stormy, storm)
    row = row_of("dup_storm", storm, storm)
    pairs = zip(storm.rounds, plain.rounds, strict=False)
    if ratios := [one.msgs_per_s / other.msgs_per_s for one, other in pairs]:
        row.extra |= {
            "unique_msgs_per_s": round(median(one.msgs_per_s for one in plain.rounds), 1),
            "ratio_to_unique": round(median(ratios), 3),
        }
    return [row]


def ours(shape: str, **environment: str) -> TierEntry:
    """An entry for our worker in a shape, with these environment variables."""
    system = programs.ours(shape, **environment)
    return TierEntry(system, "T2", rate=system.guess)


# -- rounds ------------------------------------------------------------------------------------------------------------


def compare(run: BenchmarkRun, scenario: str, drain: Drain, entries: Sequence[TierEntry]) -> list[ResultRow]:
    """The gate of each, then rounds in turn: A B C, A B C and so on."""
    for entry in entries:
        pass_gate(run, drain, entry)
    for number in range(1, run.rounds + 1):
        for entry in entries:
            if not entry.out and (entry.tier == "T2" or number <= _WEAKER_ROUNDS):
                measure(run, f"{scenario} {number}/{run.rounds}", drain, entry)
    return [row_of(scenario, entry, entries[0]) for entry in entries]


def beside_the_drain(
    run: BenchmarkRun, scenario: str, drain: Drain, entries: Sequence[TierEntry]
) -> list[ResultRow]:
    """As `compare`, with a round of our set-based drain in each turn: the machine of both is equally fast."""
    plain, calm = ours("drain"), Drain(run.nodes, log=run.log)
    for entry in entries:
        pass_gate(run, drain, entry)
    for number in range(1, run.rounds + 1):
        step = f"{scenario} {number}/{run.rounds}"
        for entry in entries:
            if not entry.out:
                measure(run, step, drain, entry)
        measure(run, f"{step} beside the drain", calm, plain)
    rows = [row_of(scenario, entry, entries[0]) for entry in entries]
    pairs = zip(entries[0].rounds, plain.rounds, strict=False)
    if ratios := [one.msgs_per_s / other.msgs_per_s for one, other in pairs]:
        rows[0].extra["ratio_to_drain"] = round(median(ratios), 3)
    return rows


def pass_gate(run: BenchmarkRun, drain: Drain, entry: TierEntry) -> None:
    if entry.tier == "T0":
        # This tier promises nothing that a gate could check.
        entry.gate = NO_GATE
        return

    def judge() -> str:
        try:
            gate: Gate = drain.gate(entry.system, entry.tier, size(entry.rate, run.of(1.0, 2.0)))
        except Exception as error:  # noqa: BLE001 - of whatever kind: the others are still to be measured
            return no_figure(error)
        entry.rate = max(gate.msgs_per_s, entry.rate / 10)
        return gate.verdict

    shape = entry.system.environment.get("SHAPE", "")
    copies = f"{drain.duplicates:.0%} copies" if drain.duplicates else ""
    entry.gate = run.gate_of(" ".join(filter(None, [entry.label, shape, copies])), judge)


def gate_of_ours(run: BenchmarkRun) -> str:
    """The check of our worker's set-based handler."""
    entry = ours("drain")
    pass_gate(run, Drain(run.nodes, log=run.log), entry)
    return entry.gate


def measure(run: BenchmarkRun, step: str, drain: Drain, entry: TierEntry) -> None:
    """Adds one round to the entry; repeats it once if the system is much faster than expected."""
    seconds = run.of(2.0, 6.0)
    try:
        one = drain.measure(entry.system, entry.tier, run.wanted_messages or size(entry.rate, seconds))
        if (
            one.seconds < seconds / 3
            and not run.wanted_messages
            and size(one.msgs_per_s, seconds) > one.messages * 2
        ):
            run.log(f"{step} {entry.label}: over after {one.seconds:.2f} s, once more with more messages")
            one = drain.measure(entry.system, entry.tier, size(one.msgs_per_s, seconds))
    except Exception as error:  # noqa: BLE001 - as above
        entry.gate = no_figure(error)
        run.log(f"{step} {entry.label}: {entry.gate}")
        return
    entry.rounds.append(one)
    entry.rate = one.msgs_per_s
    run.log(
        f"{step} {entry.label}: {one.msgs_per_s:,.0f}/s ({one.messages:,} in {one.seconds:.1f} s, CPU s/1,000 {one.cpu_s_per_1k})"
    )


def size(rate: float, seconds: float) -> int:
    """The number of messages that keeps a system of that speed busy for so long."""
    return int(min(max(rate * seconds, _SMALLEST), _LARGEST))


def row_of(scenario: str, entry: TierEntry, ours: TierEntry) -> ResultRow:
    figures = [one.msgs_per_s for one in entry.rounds]
    row = ResultRow(scenario, entry.system.name, entry.tier, gate=entry.gate, kind=entry.system.kind)
    if not figures:
        return row
    row.msgs_per_s = round(median(figures), 1)
    row.rounds = [round(figure, 1) for figure in figures]
    row.spread = spread_of(figures)
    row.cpu_s_per_1k = _median_cpu(entry.rounds)
    row.extra = {"messages": sum(one.messages for one in entry.rounds)}
    if entry.tier != ours.tier:
        return row  # Different guarantees are not compared.
    # The ratio is taken round by round, because neighbouring rounds share the machine's state.
    pairs = zip(entry.rounds, ours.rounds, strict=False)
    if ratios := [one.msgs_per_s / own.msgs_per_s for one, own in pairs]:
        row.ratio_to_ours = round(median(ratios), 3)
    return row


def _median_cpu(rounds: Sequence[Round]) -> dict[str, float] | None:
    known = [one.cpu_s_per_1k for one in rounds if one.cpu_s_per_1k]
    if not known:
        return None
    return {part: round(median(each[part] for each in known), 4) for part in known[0]}
