"""Judges effects on outside servers by what these show: duplicates, and missing ones without a question to a person."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from rich import box
from rich.table import Table

from faults.judging.checker import Violation

BEFORE: Final = "before the call"
WITHIN: Final = "in the call"
TAKEN: Final = "taken"
"""By the other side, which has not answered yet."""
ANSWERED: Final = "answered"
"""And that is not written down yet."""
LOOKING: Final = "looking"
MOMENTS: Final = (BEFORE, WITHIN, TAKEN, ANSWERED, LOOKING)


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """A point at which the sending of a post or an article may fail."""

    place: str
    step: str
    request: str
    """The one of the step that it is about, for people; empty: the whole of it."""
    moment: str
    number: int = 0
    """The request's among those of the step, in their order."""
    looks: int = 0
    """Requests that looking it up takes."""
    later: bool = False
    """Whether it is not the first step."""


@dataclass(eq=False)
class EffectRecord:
    """A requested post or article, and its result."""

    place: str
    brand: str
    post_id: UUID
    event_id: UUID
    point: FailurePoint | None = None
    fault: str = ""
    """What was to happen to it there."""
    struck: bool = False
    """Whether it did."""
    state: str = ""
    """Of its receipt or publication; empty: there is none."""
    seen: Counter[str] = field(default_factory=Counter)
    """What the public would see of it, by kind."""
    whole: Mapping[str, int] = field(default_factory=dict)
    """What it would see of it if nothing went wrong."""

    @property
    def is_twice(self) -> bool:
        return any(count > 1 for count in self.seen.values())


def judge(posts: Iterable[EffectRecord]) -> Iterator[Violation]:
    """Checks that a finished effect exists once, nothing exists twice, and an unfinished one is a question to a person."""
    for post in posts:
        where = "" if post.point is None else f", {post.point.step}, {post.point.moment}"
        told = f"{post.place}{where} ({post.fault}): {dict(post.seen)} are there, and it is {post.state or 'not known'}"
        if post.is_twice:
            yield Violation(1, f"twice: {told}")
        elif post.state == "confirmed":
            if dict(post.seen) != dict(post.whole):
                yield Violation(1, f"not all of it: {told}")
        elif post.state in {"armed", "unknown"}:
            yield Violation(8, f"left behind: {told}")
        elif post.state != "in_doubt":
            yield Violation(2 if post.seen else 1, f"nobody is asked: {told}")


@dataclass(slots=True)
class EffectCounts:
    """Counts of injected faults, by the result at the outside server."""

    injected: int = 0
    one: int = 0
    one_in_doubt: int = 0
    none_in_doubt: int = 0
    two: int = 0
    wrong: int = 0
    """Whatever else is a violation."""

    def add(self, post: EffectRecord) -> None:
        self.injected += 1
        there = bool(post.seen)
        match post.state:
            case _ if post.is_twice:
                self.two += 1
            case "confirmed":
                self.one += 1
            case "in_doubt" if there:
                self.one_in_doubt += 1
            case "in_doubt":
                self.none_in_doubt += 1
            case _:
                self.wrong += 1


def tally(posts: Iterable[EffectRecord]) -> Mapping[FailurePoint, EffectCounts]:
    """Of those that were struck."""
    counts: dict[FailurePoint, EffectCounts] = defaultdict(EffectCounts)
    for post in posts:
        if post.struck and post.point is not None:
            counts[post.point].add(post)
    return counts


def shown(fault: str, points: Sequence[FailurePoint], posts: Sequence[EffectRecord]) -> Table:
    """A line for each place and step: how often at each moment, and what the other side showed."""
    counts = tally(posts)
    table = Table(
        title=f"{fault}: how often, and what the other side shows", box=box.SIMPLE, title_justify="left"
    )
    for name in ("place", "step"):
        table.add_column(name)
    for name in (*MOMENTS, "one", "one, in doubt", "none, in doubt", "two", "else"):
        table.add_column(name, justify="right")
    lines: dict[tuple[str, str, str], dict[str, FailurePoint]] = defaultdict(dict)
    for point in points:
        lines[point.place, point.step, point.request][point.moment] = point
    for (place, step, request), at in lines.items():
        found = {moment: counts.get(point, EffectCounts()) for moment, point in at.items()}
        sums = [
            sum(getattr(count, name) for count in found.values())
            for name in ("one", "one_in_doubt", "none_in_doubt", "two", "wrong")
        ]
        times = [str(found[moment].injected) if moment in found else "" for moment in MOMENTS]
        told = f"{step}: {request}" if request else step
        table.add_row(place, told, *times, *map(str, sums))
    return table


def doubts(posts: Sequence[EffectRecord]) -> Mapping[str, tuple[int, int]]:
    """By place: how many ended in doubt, of how many that were struck."""
    struck = Counter(post.place for post in posts if post.struck)
    doubtful = Counter(post.place for post in posts if post.struck and post.state == "in_doubt")
    return {place: (doubtful[place], times) for place, times in struck.items()}
