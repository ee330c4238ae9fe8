"""Effects on outside servers: each happens once, or not at all with a visible doubt, whichever process dies or stops.

Which steps a place has, which requests these make and which look-ups, is seen in a post of each that nothing happens to: adapters are not
described twice. A fault strikes at one of those points, and where it is judged is the other side.
"""

import asyncio
import os
import random
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from rich.console import Console

from chassis.testing import eventually
from fakes import Kind
from faults.judging.checker import Violation
from faults.judging.effects import (
    ANSWERED,
    BEFORE,
    LOOKING,
    TAKEN,
    WITHIN,
    EffectRecord,
    FailurePoint,
    doubts,
    judge,
    shown,
    tally,
)
from faults.judging.results import ScenarioOutcome
from faults.playing.orders import named
from faults.playing.outside import BrandServers, EffectServices, new_post
from faults.playing.places import FILES
from faults.playing.scenario import REGISTRY, Scenario
from faults.playing.world import FaultHarness
from faults.workers import outside as worker

ROUNDS: Final = int(os.environ.get("ROUNDS", "0"))
"""How often each fault strikes at each point of each place; 0: once at one point of each place, by chance. The full form takes 50."""
_LATER_SECONDS: Final = 0.75
"""A late commit comes so long after whoever asked has gone; less than `worker.SETTLES_SECONDS`."""
_TRIES: Final = 3
"""So often as many are asked for, at most, where one was somewhere else when the fault struck."""
_POSTS_OF_A_BRAND: Final = 200
_SECONDS_OF_A_WAVE: Final = 120.0
_LOST: Final[tuple[Kind, ...]] = ("reset_before", "reset_after", "error_before", "error_after")
_STATUSES: Final = (302, 303, 500, 502, 503, 504)
"""After a redirect, too, nobody knows what was done."""
_STRIKES: Final[Mapping[str, tuple[tuple[Kind, ...], tuple[Kind, ...]]]] = {
    "silence": (("hang_before",), ("hang_after",)),
    "reset": (("reset_before",), ("reset_after", "cut_after")),
    "no good answer": (("error_before",), ("error_after",)),
    "late commit": (("late",), ("hang_after",)),
}
"""What befalls a request, without and with its effect; being told to wait, or to log in again, is no loss of an answer."""

Play: TypeAlias = Callable[[EffectServices, BrandServers, Sequence[EffectRecord]], Awaitable[None]]


@dataclass(frozen=True)
class FaultWave:
    """A fault that strikes many posts at once."""

    play: Play
    faults: tuple[str, ...]
    moments: tuple[str, ...]
    told: str
    """As the history calls it."""
    step_seconds: float
    """That a request may take; as long as it takes to have all posts where they are struck."""
    posts: int
    """In a wave, at most."""
    lanes: int
    """Waves side by side in the full form: they wait for leases most of the time."""
    of_files: bool = True
    """Whether it strikes those, too, which ask nobody."""

    def concerns(self, point: FailurePoint) -> bool:
        return point.moment in self.moments and (self.of_files or point.place != FILES)


# -- what may be struck ------------------------------------------------------------------------------------------------


@dataclass
class FailurePoints:
    points: list[FailurePoint] = field(default_factory=list)
    wholes: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """What is seen of a post or an article at each place, if all goes well."""


_LEARNT: Final[dict[str, FailurePoints]] = {}
"""By the guarantee that workers go without."""


async def learn(outside: EffectServices) -> FailurePoints:
    """Records the requests of a post to each place, and the look-ups after each lost answer."""
    mutation = outside.world.mutation
    if mutation in _LEARNT:
        return _LEARNT[mutation]
    learnt = FailurePoints()
    there = await outside.neighbourhood()
    posts = [new_post(place, there.brand) for place in (*there.fakes, FILES)]
    await outside.ask_for(posts)
    await outside.ended(posts)
    await outside.look_at(posts, there)
    for post in posts:
        is_known = post.state == "confirmed" or mutation == "receipts"
        assert is_known, f"{post.place}: without any fault it is {post.state or 'not known'}"
        assert post.seen, f"{post.place}: without any fault nothing is there"
        learnt.wholes[post.place] = dict(post.seen)
    steps = [
        (post.place, step, asked)
        for post in posts
        for step, asked in _requests(there, post, worker.SEND).items()
    ]
    firsts = {place: step for place, step, _ in reversed(steps)}
    lost = [new_post(place, there.brand) for place, _, _ in steps]
    for post, (place, step, asked) in zip(lost, steps, strict=True):
        there.orders[place].order(
            worker.address(post.post_id, worker.SEND, _sending(asked)[-1], step), "error_after"
        )
    await outside.ask_for(lost)
    await outside.ended(lost)
    for post, (place, step, asked) in zip(lost, steps, strict=True):
        looks = len(_requests(there, post, worker.LOOK).get(step, ()))
        later = step != firsts[place]
        learnt.points += _points(FailurePoint(place, step, "", BEFORE, later=later), asked, looks)
    learnt.points += [FailurePoint(FILES, worker.FILES, "", moment) for moment in _FILED]
    _LEARNT[mutation] = learnt
    return learnt


def _requests(there: BrandServers, post: EffectRecord, doing: str) -> dict[str, list[str]]:
    """By step, in their order."""
    found: dict[str, list[str]] = {}
    for request in () if post.place == FILES else there.fakes[post.place].requests:
        about = named(request)
        if about and about["post"] == str(post.post_id) and about["doing"] == doing:
            path = re.sub(r"/[^/]*\d{4,}[^/]*", "/…", request.path)
            found.setdefault(about["step"], []).append(f"{request.method} {path}")
    return found


def _sending(asked: Sequence[str]) -> list[int]:
    """Numbers of those that have an effect; of all, where none has."""
    return [number for number, each in enumerate(asked) if not each.startswith("GET ")] or [
        *range(len(asked))
    ]


def _points(before: FailurePoint, asked: Sequence[str], looks: int) -> list[FailurePoint]:
    """All of a step: that before it, and the others."""
    sending = _sending(asked)
    points = [before]
    for number in sending:
        request = asked[number] if len(sending) > 1 else ""
        points += [
            replace(before, request=request, moment=moment, number=number) for moment in (WITHIN, TAKEN)
        ]
    points.append(replace(before, moment=ANSWERED))
    if looks:
        points.append(replace(before, moment=LOOKING, number=sending[-1], looks=looks))
    return points


# -- how it is struck --------------------------------------------------------------------------------------------------


def _order(
    outside: EffectServices, there: BrandServers, post: EffectRecord, before: Kind, after: Kind
) -> str:
    """Has a request of the post fail; returns the address of that."""
    rng, point, orders = outside.world.rng, post.point, there.orders[post.place]
    assert point is not None
    sent = worker.address(post.post_id, worker.SEND, point.number, point.step)
    status = rng.choice(_STATUSES)
    if point.moment != LOOKING:
        kind, late = before if point.moment == WITHIN else after, outside.step_seconds + _LATER_SECONDS
        orders.order(sent, kind, status, seconds=late)
        return sent
    orders.order(sent, rng.choice(_LOST))
    looked = worker.address(post.post_id, worker.LOOK, rng.randrange(point.looks), point.step)
    orders.order(looked, before, status)
    return looked


async def requests_struck(
    outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]
) -> None:
    """One request of each post meets one fault: no answer, half of one, an error, with and without its effect."""
    rng = outside.world.rng
    addresses = {}
    for post in posts:
        before, after = _STRIKES[post.fault]
        addresses[post.post_id] = _order(outside, there, post, rng.choice(before), rng.choice(after))
    await outside.ask_for(posts)
    await outside.ended(posts)
    for post in posts:
        post.struck = addresses[post.post_id] in there.orders[post.place].struck
    outside.world.history.fault("requests struck", sum(post.struck for post in posts))


async def worker_killed(outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]) -> None:
    """SIGKILL with every post at a point of its own."""
    await _at_their_points(outside, there, posts)
    await outside.worker.kill()
    outside.free(posts)
    outside.worker = await outside.started_worker()
    await outside.ended(posts)


async def worker_paused(outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]) -> None:
    """Stops a worker by SIGSTOP until its leases expire and another has continued; then continues it."""
    await _at_their_points(outside, there, posts)
    paused, fences = outside.worker, await outside.fences(posts, there.brand)
    paused.stop()
    stood = [post for post in posts if post.struck and outside.is_held(post)]
    outside.worker = await outside.started_worker()
    if outside.world.rng.random() < 0.5:
        await outside.ended([post for post in posts if post not in stood])
    else:
        under_way = [post for post in posts if post.post_id in fences and post.struck]
        await eventually(lambda: outside.all_begun_again(under_way, there.brand, fences))
        await asyncio.sleep(outside.world.rng.random())
    outside.free(posts)
    paused.resume()
    await eventually(lambda: all(outside.has_passed(post) for post in stood))
    await outside.ended(posts)
    await paused.terminate()


async def gateway_killed(outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]) -> None:
    """SIGKILL to the gateway while the other sides keep their answers to themselves, having done what was asked or not."""
    await _at_their_points(outside, there, posts)
    await outside.gateway.kill()
    outside.world.history.fault("gateway killed")
    outside.gateway = await outside.started_gateway(outside.gateway.port)
    await outside.ended(posts)


async def gateway_paused(outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]) -> None:
    """SIGSTOP to a gateway with requests on their way to it; another takes over, then the first resumes and still has them."""
    paused = outside.gateway
    fresh = await outside.started_gateway()
    await _at_their_points(outside, there, posts)
    stood = [post for post in posts if post.struck]
    paused.stop()
    outside.world.history.fault("gateway paused")
    outside.free(posts)
    await eventually(lambda: all(outside.goes_on(post) or outside.has_passed(post) for post in stood))
    # What is in a socket by now, nobody can see.
    await asyncio.sleep(1.0)
    for post in stood:
        post.struck = not outside.has_passed(post)
    await outside.worker.kill()
    outside.gateway = fresh
    outside.worker = await outside.started_worker()
    await outside.ended(posts)
    paused.resume()
    # It answers what came before, in turn; nobody is there to hear it.
    await paused.ready()
    await paused.terminate()


async def _at_their_points(
    outside: EffectServices, there: BrandServers, posts: Sequence[EffectRecord]
) -> None:
    """Each has stopped, or waits for an answer, where it is to be struck; or it arrived too late, and is through."""
    waited: dict[EffectRecord, str] = {}
    for post in posts:
        assert post.point is not None
        moment = _HELD.get(post.point.moment) if post.place != FILES else _FILED[post.point.moment]
        if moment is None:
            waited[post] = _order(outside, there, post, "hang_before", "hang_after")
        else:
            outside.hold(post, moment, post.point.step)

    def is_there(post: EffectRecord) -> bool:
        address = waited.get(post)
        return outside.is_held(post) if address is None else address in there.orders[post.place].struck

    async def are_there(share: float, wanted: Sequence[EffectRecord]) -> bool:
        away = [post for post in wanted if not is_there(post)]
        return len(away) <= (1 - share) * len(wanted) or await outside.all_ended(away)

    # Those with the longer way go first: whoever stands still does so for the time of a step at most.
    farther = [post for post in posts if post.point and (post.point.later or post.point.moment == LOOKING)]
    await outside.ask_for(farther)
    await eventually(lambda: are_there(0.5, farther))
    await outside.ask_for(post for post in posts if post not in farther)
    await eventually(lambda: are_there(1.0, posts))
    in_hand = await outside.in_hand(posts, there.brand)
    for post in posts:
        standing = post.place == FILES or post.post_id in in_hand or outside.world.mutation == "receipts"
        post.struck = is_there(post) and standing and not outside.has_passed(post)


_HELD: Final = {BEFORE: worker.BEFORE, ANSWERED: worker.ANSWERED}
_FILED: Final = {BEFORE: worker.BEFORE, WITHIN: worker.WITHIN, TAKEN: worker.DONE}
"""A commit is its own answer."""


# -- the scenarios -----------------------------------------------------------------------------------------------------

_ALL: Final = (BEFORE, WITHIN, TAKEN, ANSWERED, LOOKING)
_WAYS: Final = {
    "outside effects, requests struck": (
        FaultWave(requests_struck, tuple(_STRIKES), (WITHIN, TAKEN, LOOKING), "requests struck", 4.0, 250, 2, of_files=False),
        "a request meets a reset, an error, a redirect, silence or a late commit, before and after its effect",
    ),
    "outside effects, worker killed": (
        FaultWave(worker_killed, ("kill",), _ALL, "kill", 8.0, 60, 3),
        "SIGKILL before a step is sent, while it is, after its answer, and while it is looked up",
    ),
    "outside effects, worker paused": (
        FaultWave(worker_paused, ("pause",), _ALL, "stop", 8.0, 60, 3),
        "SIGSTOP at such points beyond the lease, another goes on, then SIGCONT",
    ),
    "outside effects, gateway killed": (
        FaultWave(gateway_killed, ("gateway killed",), (WITHIN, TAKEN, LOOKING), "gateway killed", 6.0, 84, 2, of_files=False),
        "SIGKILL to the gateway while requests are on their way",
    ),
    "outside effects, gateway paused": (
        FaultWave(gateway_paused, ("gateway paused",), (BEFORE,), "gateway paused", 6.0, 64, 2, of_files=False),
        "SIGSTOP to a gateway that has requests, another goes on, then SIGCONT",
    ),
}  # fmt: skip


class FaultLots:
    """Faults and points that are left to strike; lanes draw them, and draw missed ones again."""

    def __init__(
        self, wave: FaultWave, points: Sequence[FailurePoint], rng: random.Random, mutation: str = ""
    ) -> None:
        cells = [(fault, point) for fault in wave.faults for point in points if wave.concerns(point)]
        if mutation == "fencing":
            # Where fences are missing, that is where it shows.
            cells = [(fault, point) for fault, point in cells if point.moment == BEFORE]
        self._size = wave.posts
        self._left: deque[tuple[str, FailurePoint]] = deque()
        for _ in range(ROUNDS):
            self._left.extend(rng.sample(cells, len(cells)))
        if not ROUNDS:
            # One of each place.
            drawn = {(fault, point.place): (fault, point) for fault, point in rng.sample(cells, len(cells))}
            self._left.extend(drawn.values())
        self._again = Counter(self._left)

    def draw(self) -> list[tuple[str, FailurePoint]]:
        return [self._left.popleft() for _ in range(min(self._size, len(self._left)))]

    def missed(self, post: EffectRecord) -> None:
        assert post.point is not None
        cell = (post.fault, post.point)
        if ROUNDS and self._again[cell] < _TRIES * ROUNDS:
            self._again[cell] += 1
            self._left.append(cell)


async def _lane(
    outside: EffectServices,
    wave: FaultWave,
    lots: FaultLots,
    learnt: FailurePoints,
    posts: list[EffectRecord],
) -> None:
    there, played = await outside.neighbourhood(), list[EffectRecord]()

    async def look() -> None:
        # All of them once more: something may have come late.
        await outside.look_at(played, there)

    while cells := lots.draw():
        if len(played) > _POSTS_OF_A_BRAND:
            await look()
            there, played = await outside.neighbourhood(), []
        asked = [new_post(point.place, there.brand) for _, point in cells]
        for post, (fault, point) in zip(asked, cells, strict=True):
            post.fault, post.point, post.whole = fault, point, learnt.wholes[point.place]
        await wave.play(outside, there, asked)
        played += asked
        posts += asked
        for post in asked:
            if not post.struck:
                lots.missed(post)
    await look()


async def once(name: str, world: FaultHarness) -> ScenarioOutcome:
    """Every place meets the fault at every point, `ROUNDS` times each."""
    wave, _ = _WAYS[name]
    posts: list[EffectRecord] = []
    async with AsyncExitStack() as cleanup:
        lanes = [
            await cleanup.enter_async_context(
                EffectServices.playing(world, f"lane{number}", step_seconds=wave.step_seconds)
            )
            for number in range(wave.lanes if ROUNDS else 1)
        ]
        learnt = await learn(lanes[0])
        lots = FaultLots(wave, learnt.points, world.rng, world.mutation)
        try:
            async with asyncio.TaskGroup() as tasks:
                for lane in lanes:
                    tasks.create_task(_lane(lane, wave, lots, learnt, posts))
        finally:
            # Also of what was broken off.
            _tell(wave, learnt.points, posts)
    violations = [*judge(posts)]
    if ROUNDS:
        violations += _missed(wave, learnt.points, posts)
    return ScenarioOutcome(
        submitted=len(posts),
        effects=sum(bool(post.seen) for post in posts),
        dead_letters=sum(post.state not in {"confirmed", "in_doubt"} for post in posts),
        lost=0,
        duplicated=sum(post.is_twice for post in posts),
        fired=world.history.faults[wave.told],
        seconds_to_heal=0.0,
        violations=tuple(violations),
    )


def _missed(
    wave: FaultWave, points: Sequence[FailurePoint], posts: Sequence[EffectRecord]
) -> list[Violation]:
    """Pairs of fault and point that were struck too seldom."""
    found = []
    for fault in wave.faults:
        counts = tally(post for post in posts if post.fault == fault)
        for point in points:
            times = counts[point].injected if point in counts else 0
            if wave.concerns(point) and times < ROUNDS:
                found.append(
                    Violation(
                        9, f"{fault} struck {point.place}, {point.step}, {point.moment}, {times} times alone"
                    )
                )
    return found


def _tell(wave: FaultWave, points: Sequence[FailurePoint], posts: Sequence[EffectRecord]) -> None:
    struck = sum(post.struck for post in posts)
    in_doubt = sum(post.struck and post.state == "in_doubt" for post in posts)
    print(f"         {len(posts)} posts and articles, {struck} struck, {in_doubt} of these in doubt")
    if not ROUNDS:
        return
    console = Console(width=180, highlight=False)
    for fault in wave.faults:
        concerned = [point for point in points if wave.concerns(point)]
        console.print(shown(fault, concerned, [post for post in posts if post.fault == fault]))
        told = doubts([post for post in posts if post.fault == fault])
        shares = [f"{place} {100 * some / times:.0f}%" for place, (some, times) in told.items() if some]
        console.print(f"  in doubt: {', '.join(shares) or 'none'}\n")


for _name, (_wave, _what) in _WAYS.items():
    REGISTRY[_name] = Scenario(
        _name,
        f"{_what}; every place ({ROUNDS or 'one by chance'} of each: ROUNDS)",
        partial(once, _name),
        (_wave.told,),
        budget=180.0 + _SECONDS_OF_A_WAVE * ROUNDS,
    )
