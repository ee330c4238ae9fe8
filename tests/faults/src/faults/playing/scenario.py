"""Scenarios: what each breaks, how it is played, and how it is judged."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from brandctl.local.processes import StartError
from faults.judging import checker
from faults.judging.checker import Violation
from faults.judging.history import CommandHistory
from faults.judging.observation import RunObservation
from faults.judging.results import ScenarioOutcome, ScenarioResult
from faults.playing.world import FaultHarness
from faults.surroundings.servers import ServerAddresses

Play = Callable[[FaultHarness], Awaitable[ScenarioOutcome | None]]

_BUDGET_SECONDS: Final = 180.0


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    breaks: str
    """What is broken, for people, in a line."""
    play: Play
    faults: tuple[str, ...]
    """Faults of the history that must have happened."""
    fast: bool = False
    """Whether it is part of the subset that runs with every test."""
    own_nodes: bool = False
    """Whether it gets a broker and a database server of its own, because it breaks them."""
    clustered: bool = False
    """Whether its own broker is a cluster of three nodes."""
    budget: float = _BUDGET_SECONDS
    """Seconds after which it is broken off and has failed."""
    disk: int | None = None
    """Bytes of a small disk for its own database server."""
    impossible: Callable[[], str | None] = lambda: None
    """Why this machine cannot play it, or None."""


REGISTRY: Final[dict[str, Scenario]] = {}


def scenario(
    name: str,
    breaks: str,
    *,
    faults: tuple[str, ...],
    fast: bool = False,
    own_nodes: bool = False,
    clustered: bool = False,
    budget: float = _BUDGET_SECONDS,
    disk: int | None = None,
    impossible: Callable[[], str | None] = lambda: None,
) -> Callable[[Play], Play]:
    """Registers a function as a scenario; see `Scenario` for what the arguments mean."""

    def register(play: Play) -> Play:
        assert name not in REGISTRY, f"two scenarios are called {name}"
        REGISTRY[name] = Scenario(
            name,
            breaks,
            play,
            faults,
            fast=fast,
            own_nodes=own_nodes or clustered,
            clustered=clustered,
            budget=budget,
            disk=disk,
            impossible=impossible,
        )
        return play

    return register


async def play(
    wanted: Scenario,
    servers: ServerAddresses,
    folder: Path,
    *,
    seed: int = 0,
    fast: bool = False,
    mutation: str = "",
    patience: float | None = None,
) -> ScenarioResult:
    """Plays a scenario in a fresh world and judges what became of everything.

    Args:
        wanted: the scenario.
        servers: shared ones; a scenario with nodes of its own starts those below `folder`.
        folder: for the history and the workers' logs; must be new to this scenario.
        seed: of everything random in it.
        fast: with the small numbers of the fast subset.
        mutation: a guarantee that its workers go without.
        patience: seconds without change after which rest is no longer expected.
    """
    if reason := wanted.impossible():
        return ScenarioResult(wanted.name, 0, skipped=reason)
    started = time.monotonic()
    try:
        if not wanted.own_nodes:
            return await _play(wanted, servers, folder, seed, fast, mutation, patience)
        async with ServerAddresses.launched(
            folder / "nodes", disk=wanted.disk, clustered=wanted.clustered
        ) as own:
            return await _play(wanted, own, folder, seed, fast, mutation, patience)
    except Exception as error:  # noqa: BLE001  (what surrounds one scenario must not end the others either)
        violation = Violation(0, f"could not be set up or cleared away: {error!r}")
        return ScenarioResult(wanted.name, 0, violations=(violation,), seconds=time.monotonic() - started)


async def _play(
    wanted: Scenario,
    servers: ServerAddresses,
    folder: Path,
    seed: int,
    fast: bool,
    mutation: str,
    patience: float | None,
) -> ScenarioResult:
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
    async with FaultHarness.made(servers, folder, seed=seed, fast=fast, mutation=mutation) as world:
        if patience is not None:
            world.patience = patience
        budget = asyncio.timeout(wanted.budget)
        try:
            async with budget:
                outcome = await wanted.play(world)
                if outcome is not None:
                    return _own_judgement(wanted, outcome, time.monotonic() - started)
                await world.heal()
                seconds = await world.drain(wanted.budget)
                seen = await world.observe()
        except Exception as error:  # noqa: BLE001  (one broken scenario must not hide how the others end)
            told = f"not done within {wanted.budget:.0f} s" if budget.expired() else repr(error)
            if isinstance(error, AssertionError | StartError):
                told = str(error)
            return ScenarioResult(
                wanted.name,
                fired=sum(world.history.faults[name] for name in wanted.faults),
                submitted=len(world.history.commands),
                violations=(Violation(0, f"broken off: {told}"),),
                seconds=time.monotonic() - started,
            )
        return _judge(wanted, world, seen, seconds, time.monotonic() - started)


def _judge(
    wanted: Scenario, world: FaultHarness, seen: RunObservation, to_heal: float, seconds: float
) -> ScenarioResult:
    history: CommandHistory = world.history
    violations = checker.check(history, seen, world.terms(wanted.faults))
    violations += _misbehaviour(world)
    violations += [Violation(0, demand.what) for demand in world.demands if not demand.met(seen)]
    return ScenarioResult(
        fault=wanted.name,
        fired=sum(history.faults[name] for name in wanted.faults),
        submitted=len(history.commands),
        effects=len(seen.effects),
        dead_letters=len(seen.letters),
        lost=len(checker.lost(history, seen)),
        duplicated=checker.duplicated(seen),
        seconds_to_heal=round(to_heal, 2),
        violations=tuple(violations),
        in_doubt=len(history.in_doubt),
        seconds=seconds,
    )


def _misbehaviour(world: FaultHarness) -> Iterator[Violation]:
    for worker in world.workers:
        if worker.exit_code is not None and worker.exit_code > 0:
            yield Violation(0, f"{worker.name} ended by itself with code {worker.exit_code}")
        if worker.would_not_stop:
            yield Violation(0, f"{worker.name} did not stop when asked to")


def _own_judgement(wanted: Scenario, outcome: ScenarioOutcome, seconds: float) -> ScenarioResult:
    violations = outcome.violations
    if not outcome.fired:
        violations = (*violations, Violation(9, "the fault never happened"))
    return ScenarioResult(
        fault=wanted.name,
        fired=outcome.fired,
        submitted=outcome.submitted,
        effects=outcome.effects,
        dead_letters=outcome.dead_letters,
        lost=outcome.lost,
        duplicated=outcome.duplicated,
        seconds_to_heal=round(outcome.seconds_to_heal, 2),
        violations=violations,
        seconds=seconds,
    )
