"""Notifications while the monitor is killed during sending, and channels fail in different ways."""

import asyncio
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from typing import Final

from chassis.testing import eventually
from fakes import Kind
from fakes.serving.faults import Faults
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.notified import (
    ALIKE,
    CALM,
    GROUP_SECONDS,
    MUTE,
    NotificationCounts,
    RouteDeliveries,
    monitors_playing,
    silence_of,
)
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.workers.notifying import CLAIMED, LEASE_SECONDS, LOOK_SECONDS, PAUSE_SECONDS, SENT

FAILED: Final = "calls failed"
SILENT: Final = "channel silent"
_PROMPT_SECONDS: Final = LOOK_SECONDS + GROUP_SECONDS + 3 * PAUSE_SECONDS + 3.0
"""From a matter's beginning until a channel that works has it; with what the database takes on a machine that does other things, too. Below what
the silent channel is waited for."""
_KILLS: Final = (CLAIMED, SENT, CLAIMED, SENT)
_STRUCK: Final[Mapping[Kind, float]] = {
    "reset_before": 0.04,
    "reset_after": 0.04,
    "cut_after": 0.04,
    "error_before": 0.04,
    "error_after": 0.04,
    "hang_before": 0.02,
    "hang_after": 0.02,
    "limited": 0.04,
}
_MATTERS: Final = 12
_APART_SECONDS: Final = 5.0


@scenario(
    "notifications",
    "the monitor is killed between claim and sending, and after it; a channel is silent, others lose calls and answers, mail is reset",
    faults=("kill", FAILED, SILENT),
    budget=420.0,
)
async def notifications(world: FaultHarness) -> ScenarioOutcome:
    async with monitors_playing(world) as play:
        for name in (name for name in play.fakes if name not in {CALM, MUTE}):
            play.fakes[name].faults = Faults(seed=world.rng.randrange(2**31))
            for kind, share in _STRUCK.items():
                play.fakes[name].faults.inject(kind, "POST *", times=None, share=share)
        play.fakes[MUTE].faults.inject("hang_before", times=None)
        kills = dict(zip(sorted(world.rng.sample(range(1, _MATTERS), len(_KILLS))), _KILLS, strict=True))
        for number, matter in enumerate(islice(_names(), _MATTERS)):
            if number in kills:
                play.order(kills[number])
            await play.begin(matter)
            await asyncio.sleep(_APART_SECONDS)
            await play.revive()
        world.history.fault(SILENT)
        # Once it answers, nobody needs to hear of it any more: a route that lost that very message would never have it.
        with suppress(AssertionError):
            await eventually(play.silence_told, within=40.0 if world.mutation else 120.0)
        play.fakes[MUTE].faults.clear()
        with suppress(AssertionError):
            await eventually(play.all_told, within=40.0 if world.mutation else 180.0)
        seen = await play.seen()
    for _ in range(seen.struck):
        world.history.fault(FAILED)
    late = sorted(lags(seen))
    copies = Counter(
        {
            name: sum(len(told.of(each)) - 1 for each in seen.matters if told.of(each))
            for name, told in seen.routes.items()
        }
    )
    print(
        f"         {len(seen.matters)} matters of {ALIKE} dead letters on {len(seen.routes)} routes; {seen.calls} calls, {seen.struck} failed; kills: {dict(seen.kills)}\n"
        f"         on the calm route after {late[len(late) // 2]:.1f} s in the middle, {late[-1]:.1f} s at most; told more than once: {dict(+copies) or 'nowhere'}"
    )
    missing = sum(not told.of(each) for told in seen.routes.values() for each in seen.matters)
    return ScenarioOutcome(
        submitted=len(seen.matters) * len(seen.routes),
        effects=len(seen.matters) * len(seen.routes) - missing,
        dead_letters=0,
        lost=missing,
        duplicated=copies.total(),
        fired=seen.struck + seen.kills.total(),
        seconds_to_heal=0.0,
        violations=tuple(judge(seen)),
    )


def lags(seen: NotificationCounts) -> list[float]:
    """Seconds until the calm route got each matter."""
    return [
        min(moments) - began
        for each, began in seen.matters.items()
        if (moments := seen.routes[CALM].of(each))
    ]


def judge(seen: NotificationCounts) -> Iterator[Violation]:
    """Checks that each route gets each matter, twice only if in doubt, and that working routes do not wait for broken ones."""
    for name, told in seen.routes.items():
        yield from _judge_route(name, told, seen)
    latest = max(lags(seen), default=0.0)
    if latest > _PROMPT_SECONDS + LEASE_SECONDS * seen.left_lying:
        yield Violation(6, f"route {CALM}, on which nothing fails, was told after {latest:.1f} s")
    if odd := {matter: number for matter, number in seen.counts.items() if number != ALIKE}:
        yield Violation(1, f"{ALIKE} alike were told as {odd}")
    if missed := set(_KILLS) - set(seen.kills):
        yield Violation(9, f"nobody was killed at: {', '.join(sorted(missed))}")
    if not seen.struck:
        yield Violation(9, "no call failed")


def _judge_route(name: str, told: RouteDeliveries, seen: NotificationCounts) -> Iterator[Violation]:
    for matter in seen.matters:
        times = len(told.of(matter))
        if not times:
            yield Violation(1, f"{name} was never told of {matter}")
        elif times > 1 + told.unknown:
            yield Violation(
                1, f"{name} was told {times} times of {matter}, and could be in doubt {told.unknown} times"
            )
    words: dict[str, set[str]] = {}
    for _, identity, said in told.received:
        if identity:
            words.setdefault(identity, set()).add(said)
    if changed := [identity for identity, said in words.items() if len(said) > 1]:
        yield Violation(1, f"{name} was told different things under {changed[0]}")
    if name != MUTE and not any(silence_of(MUTE) in said for _, _, said in told.received):
        yield Violation(1, f"{name} was not told that nothing arrives on route {MUTE}")


def _names() -> Iterator[str]:
    """Names of exceptions with different beginnings."""
    for first, second in product(string.ascii_uppercase, string.ascii_lowercase):
        yield f"Gone{first}{second}Error"
