"""Named places where a test may kill or stop this process, between two steps that no outside observer can hit.

`FAIL_POINTS=relay.confirmed=kill@3` kills the process when it reaches that place the third time; commas separate several. Nothing is
armed unless that variable is set when the process starts: then each place costs one look at an empty dictionary per batch.
"""

import os
import signal
from collections.abc import Mapping
from typing import Final

import structlog

log = structlog.get_logger(__name__)

NAMES: Final = {
    "settlement.claimed": "inbox rows written, handlers not run, nothing committed",
    "settlement.effects": "effects written, nothing committed",
    "transaction.committed": "committed; neither acknowledged nor published",
    "answer.committed": "what a request asked for is committed, with its answer; nothing of either is sent",
    "delivery.acknowledged": "committed and acknowledged; perhaps not published",
    "suspect.marked": "a suspect is marked and about to be handled",
    "relay.claimed": "the sweeper has leased rows and not sent them",
    "relay.publishing": "rows are about to be sent",
    "relay.sent": "rows are on the wire, none is confirmed",
    "relay.confirmed": "the broker has confirmed, the rows are still in the outbox",
    "relay.deleted": "confirmed and deleted",
}

_ACTIONS: Final = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


class FailPointError(ValueError):
    """`FAIL_POINTS` is malformed; the message describes the format."""


def parse(text: str) -> dict[str, tuple[signal.Signals, int]]:
    """Parses `FAIL_POINTS`: place → (signal, number of the visit that triggers it, from 1).

    Raises:
        FailPointError: the place or action is unknown, or the text is no list of `place=action@count`.
    """
    armed: dict[str, tuple[signal.Signals, int]] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, what = item.partition("=")
        action, _, count = what.partition("@")
        if name not in NAMES or action not in _ACTIONS or not (count or "1").isdecimal() or count == "0":
            raise FailPointError(
                f"{item!r} is no fail point: write place=kill or place=stop, with @count if not the first time; "
                f"places: {', '.join(NAMES)}"
            )
        armed[name] = (_ACTIONS[action], int(count or "1"))
    return armed


ARMED: Final[Mapping[str, tuple[signal.Signals, int]]] = parse(os.environ.get("FAIL_POINTS", ""))
_reached: Final[dict[str, int]] = {}


def reach(name: str) -> None:
    """Sends the signal if this place is armed and its count is reached."""
    if name not in ARMED:
        return
    number, count = ARMED[name]
    _reached[name] = _reached.get(name, 0) + 1
    if _reached[name] == count:
        log.warning("fail_point_strikes", place=name, signal=number.name)
        os.kill(os.getpid(), number)
