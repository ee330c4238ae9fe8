"""Effects on other people's servers: each once, or none with a visible doubt, whoever is killed or stands still meanwhile."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias, get_args

from chassis.testing import eventually
from fakes import Kind
from faults.judging.checker import Violation
from faults.judging.results import Outcome
from faults.playing.outside import PLACES, Outside, Post
from faults.playing.scenario import REGISTRY, Scenario
from faults.playing.world import World
from faults.workers.outside import ANSWERED, ARMED, STEP_SECONDS, steps_of

ROUNDS: Final = int(os.environ.get("ROUNDS", "1"))
"""How often each fault strikes each channel; the full form takes 50."""
_SECONDS_OF_A_ROUND: Final = 90.0
_ON_ITS_WAY: Final = "on its way"
_STRIKES: Final[tuple[Kind, ...]] = tuple(
    kind for kind in get_args(Kind) if kind not in {"limited", "expired", "late"}
)
"""What may befall one request; being told to wait, or to log in again, is no loss of an answer."""

Wave: TypeAlias = Callable[[Outside, Sequence[Post]], Awaitable[None]]


async def requests_struck(outside: Outside, posts: Sequence[Post]) -> None:
    """One request of each post meets one fault: no answer, half of one, an error, with and without its effect."""
    rng = outside.world.rng
    for post in posts:
        kind = rng.choice(_STRIKES)
        post.fault = f"{kind} at request {(skip := rng.randrange(4)) + 1}"
        outside.fakes[post.channel].faults.inject(kind, "*", skip=skip)
    await outside.ask_for(posts)
    await outside.ended(posts)
    for fake in outside.fakes.values():
        fired = sum(fault.fired for fault in fake.faults.planned)
        for _ in range(fired):
            outside.world.history.fault("requests struck")
        fake.faults.clear()


async def worker_killed(outside: Outside, posts: Sequence[Post]) -> None:
    """SIGKILL with every post at a place of its own: before it is sent, while it is, or after its answer."""
    await _at_their_places(outside, posts)
    await outside.worker.kill()
    _heal(outside, posts)
    outside.worker = await outside.started_worker()
    await outside.ended(posts)


async def worker_paused(outside: Outside, posts: Sequence[Post]) -> None:
    """SIGSTOP at such places until the leases are over and another has gone on; then it goes on, too."""
    await _at_their_places(outside, posts)
    paused, fences = outside.worker, await outside.fences(posts)
    paused.stop()
    for fake in outside.fakes.values():
        fake.faults.clear()
    under_way = [post for post in posts if not await outside.all_ended([post])]
    outside.worker = await outside.started_worker()
    if outside.world.rng.random() < 0.5:
        await outside.ended(posts)
    else:
        await eventually(lambda: outside.all_begun_again(under_way, fences))
        await asyncio.sleep(outside.world.rng.random())
    stood = [post for post in posts if outside.is_held(post) and not outside.has_passed(post)]
    _heal(outside, posts)
    paused.resume()
    await eventually(lambda: all(outside.has_passed(post) for post in stood))
    await outside.ended(posts)
    await paused.terminate()


async def gateway_paused(outside: Outside, posts: Sequence[Post]) -> None:
    """SIGSTOP to a gateway with requests on their way to it; another takes over, and then the first goes on and has them still."""
    paused = outside.gateway
    fresh = await outside.started_gateway()
    await _at_their_places(outside, posts, (ARMED,))
    paused.stop()
    stood = [post for post in posts if outside.is_held(post) and not outside.has_passed(post)]
    outside.free(posts)
    await eventually(lambda: all(outside.goes_on(post) or outside.has_passed(post) for post in stood))
    # What is in a socket by now, nobody can see.
    await asyncio.sleep(STEP_SECONDS / 2)
    await outside.worker.kill()
    outside.gateway = fresh
    outside.worker = await outside.started_worker()
    await outside.ended(posts)
    paused.resume()
    # It answers what came before, in turn; nobody is there to hear it.
    await paused.ready()
    await paused.terminate()


async def gateway_killed(outside: Outside, posts: Sequence[Post]) -> None:
    """SIGKILL to the gateway while the other sides keep their answers to themselves, having done what was asked or not."""
    for post in posts:
        _silence(outside, post)
    await outside.ask_for(posts)
    await eventually(lambda: _are_there(outside, posts))
    await outside.gateway.kill()
    outside.world.history.fault("gateway killed")
    for fake in outside.fakes.values():
        fake.faults.clear()
    outside.gateway = await outside.started_gateway()
    before, outside.worker = outside.worker, await outside.started_worker()
    await before.terminate()
    await outside.ended(posts)


WAVES: Final[dict[str, Wave]] = {
    "requests struck": requests_struck,
    "kill": worker_killed,
    "stop": worker_paused,
    "gateway paused": gateway_paused,
    "gateway killed": gateway_killed,
}


async def _at_their_places(
    outside: Outside, posts: Sequence[Post], places: Sequence[str] = (ARMED, ANSWERED, _ON_ITS_WAY)
) -> None:
    """Each post is armed, on its way, or answered and not written down, at one of its steps by chance."""
    rng = outside.world.rng
    for post in posts:
        place = ARMED if outside.world.mutation == "fencing" else rng.choice(places)
        if place == _ON_ITS_WAY:
            _silence(outside, post)
            continue
        steps = steps_of(post.channel)
        # Where fences are missing, that is where it shows.
        number = steps - 1 if outside.world.mutation else rng.randrange(steps)
        post.fault = f"{place}, step {number + 1}"
        outside.hold(post, f"{number} {place}")
    await outside.ask_for(posts)

    await eventually(lambda: _are_there(outside, posts))


def _silence(outside: Outside, post: Post) -> None:
    """One of its requests is never answered, whether it has its effect or not."""
    kind: Kind = outside.world.rng.choice(("hang_before", "hang_after"))
    skip = outside.world.rng.randrange(2)
    post.fault = f"{kind} at request {skip + 1}"
    outside.fakes[post.channel].faults.inject(kind, "*", skip=skip)


async def _are_there(outside: Outside, posts: Sequence[Post]) -> bool:
    """Whether each is held, or its other side is silent; or it has fewer steps, or asks for less, and is through."""
    on_the_way = [
        post
        for post in posts
        if not outside.is_held(post)
        and not any(fault.fired for fault in outside.fakes[post.channel].faults.planned)
    ]
    return await outside.all_ended(on_the_way)


def _heal(outside: Outside, posts: Sequence[Post]) -> None:
    for fake in outside.fakes.values():
        fake.faults.clear()
    outside.free(posts)


async def once(names: Sequence[str], world: World) -> Outcome:
    """Every channel meets every fault `ROUNDS` times."""
    rounds = max(1, ROUNDS)
    channels = [place.channel for place in PLACES]
    posts: list[Post] = []
    async with Outside.playing(world, channels) as outside:
        for _ in range(rounds):
            for name in names:
                wave = outside.posts()
                await WAVES[name](outside, wave)
                await outside.look_at(wave)
                for post in wave:
                    post.fault = f"{name}: {post.fault}"
                posts += wave
    in_doubt = sum(post.state == "in_doubt" for post in posts)
    print(f"         {len(posts)} posts, {in_doubt} in doubt")
    return Outcome(
        submitted=len(posts),
        effects=sum(min(post.seen.total(), 1) for post in posts),
        dead_letters=sum(post.state not in {"confirmed", "in_doubt"} for post in posts),
        lost=0,
        duplicated=sum(count - 1 for post in posts for count in post.seen.values() if count > 1),
        fired=sum(world.history.faults[name] for name in names if name != "gateway paused")
        + ("gateway paused" in names),
        seconds_to_heal=0.0,
        violations=tuple(judge(posts)),
    )


def judge(posts: Sequence[Post]) -> Iterator[Violation]:
    """By what the other sides show: one of a kind at most; one, where it counts as done; none, where it counts as not done."""
    for post in posts:
        told = f"{post.channel} ({post.fault}): {dict(post.seen)} are there, its receipt is {post.state or 'missing'}"
        out = post.seen["post"] or post.seen["article"]
        if any(count > 1 for count in post.seen.values()):
            yield Violation(1, f"twice: {told}")
        elif post.state == "confirmed" and not out:
            yield Violation(1, f"none: {told}")
        elif post.state in {"", "ready", "refused"} and out:
            yield Violation(2, f"one that counts as not done: {told}")
        elif post.state in {"armed", "unknown"}:
            yield Violation(8, f"left behind: {told}")


_WAYS: Final = {
    "outside effects, requests struck": (
        ("requests struck",),
        "requests of posts meet resets, errors and silence, before and after their effect",
    ),
    "outside effects, worker killed": (
        ("kill",),
        "SIGKILL before a post is sent, while it is, and after its answer",
    ),
    "outside effects, worker paused": (
        ("stop",),
        "SIGSTOP at such places beyond the lease, another goes on, then SIGCONT",
    ),
    "outside effects, gateway killed": (
        ("gateway killed",),
        "SIGKILL to the gateway while posts are on their way",
    ),
    "outside effects, gateway paused": (
        ("gateway paused",),
        "SIGSTOP to a gateway that has requests, another goes on, then SIGCONT",
    ),
}
for _name, (_waves, _what) in _WAYS.items():
    REGISTRY[_name] = Scenario(
        _name,
        f"{_what}; every channel, {ROUNDS} times each (ROUNDS)",
        partial(once, _waves),
        _waves,
        budget=60.0 + _SECONDS_OF_A_ROUND * ROUNDS,
    )
