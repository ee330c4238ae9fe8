"""`brandctl messages`: messages of all services, handled and running ones too."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterCursor, Limit
from brandctl.short_ids import parse_id
from brandctl.times import parse_moment, to_second
from client.errors import ClientError
from client.message_services import MessageServiceName
from client.pages import read_if_known
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

app = Group(
    "messages",
    """Lists messages that services have handled, handle now, or are to handle or send.

Each command calls the services that handle messages. Their addresses come from ORCHESTRATOR_URL and so on, and the key
from SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

For example:

    brandctl messages list --service publisher --state dead_lettered
    brandctl messages running
""",
)

_State = Literal["handled", "dead_lettered", "waiting", "unsent"]
_SHOWN: Final = 80
"""Characters of an error in the table; `--json` has the whole text."""


def why(message: dict[str, Any]) -> str:
    """Returns what a message in an outbox waits for, or why its last attempt failed."""
    if message["waits_for"]:
        return f"{message['waits_for']} is away"
    told = ": ".join(filter(None, (message["exception_type"], message["detail"])))
    told = told or message.get("publish_error") or ""
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"


_MESSAGES: Final = Listing(
    {
        "service": "service",
        "message": "message_id",
        "type": "type",
        "state": "state",
        "made": lambda message: to_second(message["at"]),
        "ended": lambda message: to_second(message["ended_at"]),
        "due": lambda message: to_second(message["due_at"]),
        "why": why,
    },
    nothing="no message matches",
)
_RUNNING: Final = Listing(
    {
        "service": "service",
        "message": "message_id",
        "type": "type",
        "attempt": lambda message: str(message["attempt"]),
        "since": lambda message: to_second(message["since"]),
        "host": "host",
        "pid": lambda message: str(message["pid"]),
        "process": lambda message: (
            f"silent since {to_second(message['seen_at'])}" if message["is_orphaned"] else "alive"
        ),
    },
    nothing="no message has been in a handler for a second or more",
)


def ask_each(
    clients: Sequence[Any], read: Callable[[Any], Any]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Returns the answers of the services by name, and why the others gave none."""
    found: dict[str, dict[str, Any]] = {}
    away: list[str] = []
    for each in clients:
        try:
            answer = read_if_known(partial(read, each))
        except ClientError as error:
            away.append(str(error))
            continue
        if answer is None:
            away.append(f"the {each.service} service is of an older version, which has no such list")
            continue
        found[each.service] = answer
    return found, away


@app.command("list")
def list_messages(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    service: MessageServiceName | None = None,
    type_name: Annotated[str | None, typer.Option("--type")] = None,
    state: _State | None = None,
    since: Annotated[str | None, typer.Option(parser=parse_moment, metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(parser=parse_moment, metavar="TIME")] = None,
    message_id: Annotated[UUID | None, typer.Option(parser=parse_id, metavar="ID")] = None,
    correlation_id: str | None = None,
    after: AfterCursor = None,
    limit: Limit = 50,
) -> Result:
    """Lists messages by service, the newest first; exit code 1 if a service cannot be reached.

    A message that a service has sent is in the list of the service that handles it. Messages that wait at the broker are
    in no list.

    For example:

        brandctl messages list --state dead_lettered --since 2026-11-28
        brandctl messages list --message-id 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10

    Options:
        service: Only this service's. [default: all that handle messages]
        type_name: Only messages of this type, such as content.publish.
        state: Only messages in this state.
        since: Only messages made from this time on, such as 2026-11-28T14:00.
        until: Only messages made before this time.
        message_id: Only this message.
        correlation_id: Only messages of this chain.
    """
    if after is not None and service is None:
        raise UsageError("--after continues the list of one service: give --service, too")
    chosen = [
        each
        for each in (orchestrator, research, publisher, social, monitor, events)
        if service in {None, each.service}
    ]
    answers, away = ask_each(
        chosen,
        lambda client: client.list_messages(
            type=type_name,
            state=state,
            since=since,
            until=until,
            message_id=message_id,
            correlation_id=correlation_id,
            after=after,
            limit=limit,
        ),
    )
    found = [{"service": name, **item} for name, page in answers.items() for item in page["items"]]
    more = {name: page["next"] for name, page in answers.items() if page["next"] is not None}
    reach = {
        name: {"reaches_back_to": page["reaches_back_to"], "chains_since": page["chains_since"]}
        for name, page in answers.items()
    }
    listed = _MESSAGES.of({"items": found, "next": more, "records": reach}, found)
    remarks = [f"{name} has more: --service {name} --after {following}" for name, following in more.items()]
    remarks += [
        f"the record of {name} reaches back to {to_second(each['reaches_back_to'])}"
        for name, each in reach.items()
        if each["reaches_back_to"] is not None
    ]
    # Of services that did not answer, nobody knows what they have.
    note = () if away else listed.note
    return Result(listed.answer, listed.show, note, remark=remarks, error="; ".join(away))


@app.command("running")
def list_running_messages(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
) -> Result:
    """Lists messages that have been in a handler for a second or more; exit code 1 if a service cannot be reached.

    A process that is silent has died, or cannot reach its database: the broker gives its messages to another.

    For example:

        brandctl messages running --json | jq -r '.items[] | select(.is_orphaned) | .message_id'
    """
    answers, away = ask_each(
        (orchestrator, research, publisher, social, monitor, events),
        lambda client: client.list_running_messages(),
    )
    found = [{"service": name, **item} for name, page in answers.items() for item in page["items"]]
    listed = _RUNNING.of({"items": found}, found)
    return Result(listed.answer, listed.show, () if away else listed.note, error="; ".join(away))
