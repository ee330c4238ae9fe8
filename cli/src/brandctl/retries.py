"""`brandctl retries`: messages that wait for another attempt, of all services."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.messages import why
from brandctl.operator_names import By, who
from brandctl.options import AfterCursor, Limit, Yes
from brandctl.short_ids import parse_id
from brandctl.terminal import note
from client.errors import ClientError
from client.message_services import MessageServiceName
from client.pages import read_if_known
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_Any = Orchestrator | Research | Publisher | Social | Monitor | Events

app = Group(
    "retries",
    """Lists messages that wait for another attempt, because the last one failed or something is away; runs or cancels them.

Each command calls the services that handle messages. Their addresses come from ORCHESTRATOR_URL and so on, and the key
from SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

For example:

    brandctl retries list
    brandctl retries list --service publisher --type content.publish
    brandctl retries run-now --service publisher --type content.publish
    brandctl retries cancel 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --service publisher --reason "…"
""",
)

_AT_ONCE: Final = 200
"""The most messages of one request."""


_RETRIES: Final = Listing(
    {
        "service": "service",
        "id": "id",
        "message": "message_id",
        "type": "type",
        "brand": "brand",
        "attempt": lambda retry: str(retry["attempt"]),
        "due": lambda retry: datetime.fromisoformat(retry["due_at"]).isoformat(sep=" ", timespec="seconds"),
        "why": why,
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
    events: Events,
    service: MessageServiceName | None = None,
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
    for each in (orchestrator, research, publisher, social, monitor, events):
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


_Ids = Annotated[
    list[UUID] | None, typer.Argument(metavar="[ID]...", parser=parse_id, help="Ids out of `list`.")
]


@app.command("run-now")
def run_now(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    service: Annotated[MessageServiceName, typer.Option()],
    ids: _Ids = None,
    type_name: Annotated[str | None, typer.Option("--type")] = None,
    correlation_id: str | None = None,
    by: By = None,
    yes: Yes = False,
) -> Result:
    """Makes the next attempt of messages now; exit code 1 if one of them stays as it is.

    It is the same attempt, only sooner. A message that waits for something that is away may come back to the list.

    For example:

        brandctl retries run-now 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --service publisher
        brandctl retries run-now --service publisher --type content.publish --yes

    Options:
        service: The service in which they wait.
        type_name: All messages of this type.
        correlation_id: All messages of this chain.
    """
    chosen = _chosen((orchestrator, research, publisher, social, monitor, events), service)
    selection = _selection(chosen, ids, type_name, correlation_id, "run", yes=yes)
    return _changed(partial(chosen.run_retries, by=who(by)), selection, "due now")


@app.command("cancel")
def cancel(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    service: Annotated[MessageServiceName, typer.Option()],
    reason: Annotated[str, typer.Option()],
    ids: _Ids = None,
    type_name: Annotated[str | None, typer.Option("--type")] = None,
    correlation_id: str | None = None,
    by: By = None,
    yes: Yes = False,
) -> Result:
    """Cancels the next attempt of messages; exit code 1 if one of them stays as it is.

    A cancelled message becomes a dead letter, which can be replayed: nothing is lost.

    For example:

        brandctl retries cancel 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --service publisher --reason "the site is closed"
        brandctl retries cancel --service social --type post.send --reason "channel was given up" --yes

    Options:
        service: The service in which they wait.
        reason: Why their work is not needed now, stored with the dead letter.
        type_name: All messages of this type.
        correlation_id: All messages of this chain.
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    chosen = _chosen((orchestrator, research, publisher, social, monitor, events), service)
    selection = _selection(chosen, ids, type_name, correlation_id, "cancel", yes=yes)
    return _changed(partial(chosen.cancel_retries, by=who(by), reason=reason), selection, "cancelled")


def _chosen(services: Sequence[_Any], name: str) -> _Any:
    return next(each for each in services if each.service == name)


def _selection(
    service: _Any,
    ids: Sequence[UUID] | None,
    type_name: str | None,
    correlation_id: str | None,
    verb: str,
    *,
    yes: bool,
) -> list[dict[str, Any]]:
    """Returns the selections of the requests: parts of the ids, or all that match now, after a confirmation."""
    named = {"type": type_name, "correlation_id": correlation_id}
    group = {name: value for name, value in named.items() if value is not None}
    if bool(ids) == bool(group):
        raise typer.BadParameter("give ids, or --type, or --correlation-id", param_hint="ID")
    if ids:
        every = [str(each) for each in dict.fromkeys(ids)]
        return [{"ids": every[first : first + _AT_ONCE]} for first in range(0, len(every), _AT_ONCE)]
    page = service.list_retries(type=type_name, correlation_id=correlation_id, limit=1)
    if not page["matching"]:
        raise CommandError(f"no message of {service.service} matches that waits for another attempt")
    what = f"{page['matching']:,} message{'' if page['matching'] == 1 else 's'} of {service.service}"
    if not yes:
        confirm(f"{verb.capitalize()} {what}?")
    # A message that waits anew meanwhile is not selected again.
    return [{**group, "until": page["now"]}]


def _changed(call: Callable[..., Any], selections: Sequence[dict[str, Any]], done: str) -> Result:
    ids: list[str] = []
    refused: list[Any] = []
    for selection in selections:
        after: dict[str, Any] = {}
        while True:
            try:
                answer = call(**selection, **after, limit=_AT_ONCE)
            except ClientError:
                if ids:
                    note(f"{len(ids):,} {done}; the same command continues with the rest.")
                raise
            ids += answer["ids"]
            refused += answer["refused"]
            if "ids" in selection or answer["next"] in {None, after.get("after")}:
                break
            after = {"after": answer["next"]}
    reasons = Counter(each["detail"] for each in refused)
    told = [f"{len(ids):,} {done}", *(f"{count:,} not: {detail}" for detail, count in reasons.items())]
    return Result({"ids": ids, "refused": refused}, remark=told, fails=bool(refused) or not ids)
