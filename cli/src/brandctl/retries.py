"""`brandctl retries`: messages that wait for another attempt, of all services."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterCursor, Limit
from client.errors import ClientError
from client.pages import read_if_known
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

app = Group(
    "retries",
    """Lists messages that wait for another attempt, because the last one failed or something is away.

Each command calls the services that handle messages. Their addresses come from ORCHESTRATOR_URL and so on, and the key
from SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

For example:

    brandctl retries list
    brandctl retries list --service publisher --type content.publish
""",
)

_Service = Literal["orchestrator", "research", "publisher", "social", "monitor"]
_SHOWN: Final = 80
"""Characters of an error in the table; `--json` has the whole text."""


def _why(retry: dict[str, Any]) -> str:
    if retry["waits_for"]:
        return f"{retry['waits_for']} is away"
    told = ": ".join(filter(None, (retry["exception_type"], retry["detail"])))
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"


_RETRIES: Final = Listing(
    {
        "service": "service",
        "message": "message_id",
        "type": "type",
        "brand": "brand",
        "attempt": lambda retry: str(retry["attempt"]),
        "due": lambda retry: datetime.fromisoformat(retry["due_at"]).isoformat(sep=" ", timespec="seconds"),
        "why": _why,
    },
    nothing="no message waits for another attempt",
)


@app.command("list")
def list_retries(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    service: _Service | None = None,
    type_name: Annotated[str | None, typer.Option("--type")] = None,
    correlation_id: str | None = None,
    after: AfterCursor = None,
    limit: Limit = 50,
) -> Result:
    """Lists messages that wait for another attempt, the next to be due first; exit code 1 if a service cannot be reached.

    For example:

        brandctl retries list --json | jq -r '.items[].message_id'

    Options:
        service: Only this service's. [default: all that handle messages]
        type_name: Only messages of this type, such as content.publish.
        correlation_id: Only messages of this chain.
    """
    if after is not None and service is None:
        raise UsageError("--after continues the list of one service: give --service, too")
    found: list[Any] = []
    more: dict[str, str] = {}
    away: list[str] = []
    for each in (orchestrator, research, publisher, social, monitor):
        if service not in {None, each.service}:
            continue
        try:
            page = read_if_known(
                partial(
                    each.list_retries, type=type_name, correlation_id=correlation_id, after=after, limit=limit
                )
            )
        except ClientError as error:
            away.append(str(error))
            continue
        if page is None:
            away.append(f"the {each.service} service is of an older version, which has no such list")
            continue
        found += [{"service": each.service, **item} for item in page["items"]]
        if page["next"] is not None:
            more[each.service] = page["next"]
    listed = _RETRIES.of({"items": found, "next": more}, found)
    remarks = [f"{name} has more: --service {name} --after {following}" for name, following in more.items()]
    # Of services that did not answer, nobody knows whether messages wait there.
    note = () if away else listed.note
    return Result(listed.answer, listed.show, note, remark=remarks, error="; ".join(away))
