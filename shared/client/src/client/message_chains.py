"""One line of time, and one tree, out of the lists of messages that each service has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from client.message_services import CHAIN_SERVICES

PLACE: Final = re.compile("[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A place in a list of messages: the cursor of a page."""
MOST_DEPTH: Final = 12
"""Of a tree: what is deeper is shown as deep as that."""
_TENTHS, _MINUTE, _HOUR, _DAY = 10, 60, 3600, 86400
_BETWEEN: Final = "~"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ChainPage:
    """Messages of several services, the newest first."""

    items: tuple[Mapping[str, Any], ...]
    """Each with its `service`."""
    next: str | None
    """Where the next page begins in each list: `orchestrator.PLACE~social.`; None on the last page."""


def read_places(cursor: str) -> dict[str, str | None]:
    """Returns the services that a page reads and where it begins in each; None: at the start. Strange parts are left out."""
    if not cursor:
        return dict.fromkeys(CHAIN_SERVICES)
    found: dict[str, str | None] = {}
    for part in cursor.split(_BETWEEN):
        name, _, place = part.partition(".")
        if name in CHAIN_SERVICES and (not place or PLACE.fullmatch(place)):
            found[name] = place or None
    return found


def merge(
    answers: Mapping[str, Mapping[str, Any]], places: Mapping[str, str | None], *, size: int
) -> ChainPage:
    """Joins a page of each service into one.

    Args:
        answers: the pages by service, of up to `size` messages; the list of a service without one is continued on the next page.
        places: where the pages begin.
        size: the most messages.
    """
    found = sorted(
        # Services of a version before name no cause and no attempts.
        (
            {"service": service, "caused_by": None, "attempts": (), **item}
            for service, answer in answers.items()
            for item in answer["items"]
        ),
        key=lambda each: (datetime.fromisoformat(each["at"]), each["message_id"], each["service"]),
        reverse=True,
    )
    # A page that is not full may have a next one: what is older than its end may stand there.
    ends = [_time_of(answer["next"]) for answer in answers.values() if answer["next"] is not None]
    shown = [each for each in found[:size] if not ends or _microseconds(each["at"]) >= max(ends)]
    following: dict[str, str | None] = {}
    for service, place in places.items():
        if service not in answers:
            following[service] = place
            continue
        mine = [each for each in shown if each["service"] == service]
        answer = answers[service]
        if len(mine) < len(answer["items"]):
            following[service] = mine[-1]["place"] if mine else place
        elif answer["next"] is not None:
            following[service] = answer["next"]
    if not any(service in answers for service in following):
        return ChainPage(tuple(shown), None)
    return ChainPage(
        tuple(shown), _BETWEEN.join(f"{name}.{place or ''}" for name, place in following.items())
    )


def _time_of(cursor: str) -> int:
    return int(cursor.partition("-")[0])


def _microseconds(moment: str) -> int:
    return (datetime.fromisoformat(moment) - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class MessageTimes:
    """How long a message took, in seconds."""

    waited: float | None
    """From when it was made to its end, without the work; None: it has not ended."""
    worked: float | None
    """In its handlers, as far as that is recorded; None: less than a second, or in a batch with others."""


def times_of(message: Mapping[str, Any]) -> MessageTimes:
    """Returns how long a message of a list waited and was worked on. Clocks of two machines may differ by some milliseconds."""
    runs = [
        (datetime.fromisoformat(each["ended_at"]) - datetime.fromisoformat(each["began_at"])).total_seconds()
        for each in message.get("attempts") or ()
        if each["began_at"] is not None
    ]
    worked = max(sum(runs), 0.0) if runs else None
    if message["ended_at"] is None:
        return MessageTimes(None, worked)
    took = datetime.fromisoformat(message["ended_at"]) - datetime.fromisoformat(message["at"])
    return MessageTimes(max(took.total_seconds() - (worked or 0.0), 0.0), worked)


def duration(seconds: float | None) -> str:
    """Returns a time in the largest unit that fits, such as `0.4 s`, `12 s`, `3 min` or `2 h`; empty for None."""
    if seconds is None:
        return ""
    if seconds < _TENTHS:
        return f"{seconds:.1f} s"
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A message in the tree of its chain."""

    depth: int
    """The number of its causes above it, at most `MOST_DEPTH`."""
    message: Mapping[str, Any]
    is_cut_off: bool
    """Whether its cause is not among the messages of the tree."""


def tree(messages: Sequence[Mapping[str, Any]]) -> tuple[TreeLine, ...]:
    """Orders messages so that each follows on the one whose handling sent it, and the oldest come first.

    Any causes are taken, even those of strangers: of messages that would cause each other, each stands in the tree once.
    """
    ordered = sorted(
        messages, key=lambda each: (datetime.fromisoformat(each["at"]), each["message_id"], each["service"])
    )
    ids = {each["message_id"] for each in ordered}
    following: dict[str, list[Mapping[str, Any]]] = {}
    roots: list[Mapping[str, Any]] = []
    for each in ordered:
        cause = each.get("caused_by")
        if cause is not None and cause in ids and cause != each["message_id"]:
            following.setdefault(cause, []).append(each)
        else:
            roots.append(each)
    lines: list[TreeLine] = []
    # A circle has no root: its oldest message becomes one.
    for root in (*roots, *ordered):
        waiting = [(0, root)]
        while waiting:
            depth, message = waiting.pop()
            if message["message_id"] not in ids:
                continue
            ids.discard(message["message_id"])
            cause = message.get("caused_by")
            lines.append(TreeLine(depth, message, is_cut_off=depth == 0 and cause is not None))
            waiting += [
                (min(depth + 1, MOST_DEPTH), each)
                for each in reversed(following.get(message["message_id"], []))
            ]
    return tuple(lines)
