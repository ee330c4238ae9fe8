"""`brandctl dead-letters operations` and `stop`: decisions about all dead letters that match, made in the console or over the API."""

from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.listing import Listing
from brandctl.operator_names import By, who
from brandctl.short_ids import parse_reference
from client.services.monitor import Monitor


def _outcomes(operation: dict[str, Any]) -> str:
    if operation["verb"] != "replay":
        return ""
    return "{handled:,} handled, {came_back:,} failed again, {waiting:,} waiting".format_map(operation)


_OPERATIONS: Final = Listing(
    {
        "operation": "id",
        "does": "verb",
        "state": "state",
        "decided": lambda each: f"{each['decided']:,} of {each['total']:,}",
        "outcomes": _outcomes,
        "started": "started_at",
        "by": lambda each: each["by"] or "",
        "reason": lambda each: each["problem"] or each["reason"] or "",
    },
    nothing="nobody has decided about all that match",
    colours={"failed": "red"},
)


def operations(monitor: Monitor, limit: Annotated[int, typer.Option(min=1, max=200)] = 20) -> Result:
    """Lists decisions about all dead letters that match, newest first: how far each is, and what became of its replays.

    They are made in the console, or by `POST /v1/dead-letter-operations`, and go on after a restart.

    For example:

        brandctl dead-letters operations
    """
    return _OPERATIONS.of(
        found := monitor.list_dead_letter_operations(limit=limit), [dict(each) for each in found["items"]]
    )


def stop(
    monitor: Monitor,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", parser=parse_reference)],
    by: By = None,
) -> Result:
    """Stops such a decision; the rest stays as it is, and messages that are on their way stay so.

    For example:

        brandctl dead-letters stop 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10

    Options:
        operation: An id from `operations`.
    """
    stopped = dict(monitor.stop_dead_letter_operation(operation, by=who(by)))
    return _OPERATIONS.of(stopped, [stopped])
