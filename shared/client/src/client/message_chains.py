"""One line of time out of the lists of messages that each service has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from client.message_services import MESSAGE_SERVICES

PLACE: Final = re.compile("[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A place in a list of messages: the cursor of a page."""
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
        return dict.fromkeys(MESSAGE_SERVICES)
    found: dict[str, str | None] = {}
    for part in cursor.split(_BETWEEN):
        name, _, place = part.partition(".")
        if name in MESSAGE_SERVICES and (not place or PLACE.fullmatch(place)):
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
        ({"service": service, **item} for service, answer in answers.items() for item in answer["items"]),
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
