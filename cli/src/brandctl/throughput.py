"""`brandctl throughput`: what became of messages by type, and how long they waited and were worked on."""

from functools import partial
from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.listing import Listing
from client.errors import ClientError
from client.pages import read_if_known
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_COUNTS: Final = ("handled", "retried", "set_aside", "dead")
_SHORTEST: Final = 0.001
"""Seconds; what takes less is shown as this."""


def _times(name: str) -> Any:
    def written(row: dict[str, Any]) -> str:
        found = row[name]
        if not found or not found["count"]:
            return ""
        return " / ".join(
            f"{max(_SHORTEST, round(found[each], 3)):,g} s" for each in ("p50", "p95", "longest")
        )

    return written


_TYPES: Final = Listing(
    {
        "service": "service",
        "queue": "queue",
        "type": "type",
        **{name.replace("_", " "): name for name in _COUNTS},
        "waiting": _times("waiting"),
        "working": _times("working"),
    },
    nothing="no message was handled in these hours",
)


def throughput(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    hours: Annotated[int, typer.Option(min=1, max=168)] = 24,
) -> Result:
    """Shows what became of messages by type, and how long they waited and were worked on; exit code 1 if a service is away.

    Times are half of all, 95 percent, and the slowest. Each service keeps its figures for a week; --json has them by minute and
    hour, too. Addresses come from ORCHESTRATOR_URL and so on, the key from SERVICE_KEY or --key-file.

    For example:

        brandctl throughput
        brandctl throughput --hours 168 --json | jq '.services[].hours'

    Options:
        hours: Hours to look at, with the present one.
    """
    found: list[dict[str, Any]] = []
    away: list[str] = []
    for each in (orchestrator, research, publisher, social, monitor, events):
        try:
            part = read_if_known(partial(each.get_figures, hours=hours))
        except ClientError as error:
            away.append(str(error))
            continue
        if part is None:
            away.append(f"the {each.service} service is of an older version, which keeps no figures")
            continue
        found.append({"service": each.service, **part})
    rows = [row for part in found for row in _rows(part)]
    listed = _TYPES.of({"services": found}, rows)
    return Result(listed.answer, listed.show, listed.note, error="; ".join(away))


def _rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each type of message of a service."""
    times = {(each["queue"], each["type"]): each for each in part["times"]}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in part["hours"]:
        place = each["queue"], each["type"]
        known = times.get(place, {})
        row = rows.setdefault(
            place,
            {
                "service": part["service"],
                "queue": place[0],
                "type": place[1],
                **dict.fromkeys(_COUNTS, 0),
                "waiting": known.get("waiting"),
                "working": known.get("working"),
            },
        )
        for name in _COUNTS:
            row[name] += each[name]
    return sorted(rows.values(), key=lambda row: -row["handled"])
