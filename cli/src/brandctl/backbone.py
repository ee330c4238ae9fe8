"""`brandctl backbone`: queues, outboxes and state of all services that handle messages."""

from datetime import datetime
from typing import Any, Final

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


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _state(part: dict[str, Any]) -> str:
    if part["is_ready"]:
        return "ready"
    return "; ".join(f"{each['part']} {each['problem']}" for each in part["problems"])


def _queues(part: dict[str, Any]) -> str:
    return ", ".join(
        f"{each['queue']} {_number(each['ready'])} ({_number(each['consumers'])} consumers{_rates(each)}{_paused(each)})"
        for each in part["queues"]
    )


def _rates(queue: dict[str, Any]) -> str:
    """Nothing for a quiet queue, and for a service of an older version."""
    arrived, left = queue.get("in_per_minute"), queue.get("out_per_minute")
    if not arrived and not left:
        return ""
    return f", per minute {'?' if arrived is None else f'{arrived:,.1f}'} in and {left:,.1f} out"


def _paused(queue: dict[str, Any]) -> str:
    # A service of an older version does not tell.
    pause = queue.get("pause")
    return "" if pause is None else f", paused by {pause['by']}: {pause['reason']}"


def _oldest(part: dict[str, Any]) -> str:
    oldest = part["outbox"]["oldest_due_at"]
    if oldest is None:
        return ""
    age = datetime.fromisoformat(part["now"]) - datetime.fromisoformat(oldest)
    return f"{age.total_seconds():,.0f} s"


def _away(part: dict[str, Any]) -> str:
    return ", ".join(f"{each['name']} {each['trouble']}" for each in part["breakers"] if each["trouble"])


_PARTS: Final = Listing(
    {
        "service": "service",
        "version": "version",
        "state": _state,
        "queues": _queues,
        "outbox": lambda part: _number(part["outbox"]["depth"]),
        "due": lambda part: _number(part["outbox"]["due"]),
        "oldest": _oldest,
        "away": _away,
    },
    nothing="no service answered",
    colours={"ready": "green"},
)


def backbone(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
) -> Result:
    """Shows the queues and outboxes of all services, and whether each is ready; exit code 1 if one cannot be reached.

    Each service that handles messages answers for its own part. Addresses come from ORCHESTRATOR_URL and so on, the key from
    SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

    For example:

        brandctl backbone
        brandctl backbone --json | jq '.services[] | {service, outbox}'
    """
    found: list[dict[str, Any]] = []
    away: list[str] = []
    for each in (orchestrator, research, publisher, social, monitor, events):
        try:
            part = read_if_known(each.get_backbone)
        except ClientError as error:
            away.append(str(error))
            continue
        if part is None:
            away.append(f"the {each.service} service is of an older version, which does not show its part")
            continue
        found.append({"service": each.service, **part})
    listed = _PARTS.of({"services": found}, found)
    return Result(listed.answer, listed.show, listed.note, error="; ".join(away))
