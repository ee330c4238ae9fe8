"""`brandctl notifications`: routes, open notifications, and the log of sent messages."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterId, Limit, OfBrand
from brandctl.short_ids import parse_id
from brandctl.terminal import out, printable
from brandctl.times import to_minute
from client.connections import UNSET
from client.services.monitor import Monitor, NotificationKind

if TYPE_CHECKING:
    from client.services.monitor import answers

app = Group(
    "notifications",
    """Sends notifications about problems and waiting work by Telegram, Slack, Discord, mail or webhook.

For example:

    brandctl notifications set ops --account ops-telegram --quiet 22:00-07:00 --time-zone Europe/Berlin
    brandctl notifications set editors --account mail --to ed@example.org --brand acme --summary "monday 08:00"
    brandctl notifications test ops
    brandctl notifications list
    brandctl notifications log --state failed
""",
    Monitor,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the route.")]
MessageState = Literal["waiting", "sending", "sent", "failed"]

_NOTICED: Final = Listing(
    {
        "id": "id",
        "noticed": lambda each: to_minute(each["noticed_at"]),
        "brand": "brand",
        "kind": "kind",
        "severity": "severity",
        "state": "state",
        "what": lambda each: each["title"] + ("" if each["count"] is None else f" ({each['count']})"),
        "look at it with": "command",
    },
    nothing="no open notifications",
    colours={"critical": "red", "warning": "yellow", "acknowledged": "green", "resolved": "green"},
)
_ROUTES: Final = Listing(
    {
        "name": "name",
        "account": "account",
        "to": lambda each: ", ".join(each["to"]),
        "brand": "brand",
        "kinds": lambda each: ", ".join(each["kinds"]) or "all",
        "state": "state",
        "problem": "problem",
        "last sent": lambda each: to_minute(each["last_sent_at"]),
    },
    nothing="there are no routes, so no notification is sent: make one with brandctl notifications set",
    colours={"working": "green", "failing": "red"},
)
_LOG: Final = Listing(
    {
        "id": "id",
        "made": lambda each: to_minute(each["made_at"]),
        "route": "route",
        "purpose": "purpose",
        "state": "state",
        "attempts": "attempts",
        "what": "title",
        "problem": "problem",
    },
    nothing="nothing was sent",
    colours={"sent": "green", "failed": "red", "waiting": "yellow"},
)


@app.command("list")
def list_notifications(
    monitor: Monitor,
    all_: bool = False,
    kind: NotificationKind | None = None,
    brand: OfBrand = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists open notifications, newest first.

    Options:
        all_: Also what is over.
        kind: Only this kind. [default: all]
    """
    is_open = None if all_ else True
    found = monitor.list_notifications(open=is_open, kind=kind, brand=brand, before=after, limit=limit)
    return _NOTICED.of(found)


@app.command()
def acknowledge(
    monitor: Monitor,
    notification: Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id)],
    by: str | None = None,
) -> Result:
    """Marks a notification as taken care of: only its resolution is sent from then on.

    Options:
        notification: An id from `list`.
        by: The person who takes care of it. [default: the key's name]
    """
    done = monitor.acknowledge_notification(notification, by=UNSET if by is None else by)
    who = printable(str(done["acknowledged_by"]))
    return Result(done, remark=f"{printable(done['title'])}: {who} takes care of it")


@app.command()
def routes(monitor: Monitor) -> Result:
    """Lists the routes, and whether each works."""
    return _ROUTES.of(monitor.list_notification_routes(), more=False)


@app.command()
def show(monitor: Monitor, name: Name) -> Result:
    """Shows the settings of a route, and whether it works."""
    return _shown(monitor.get_notification_route(name))


@app.command("set")
def set_route(
    monitor: Monitor,
    name: Name,
    account: Annotated[str, typer.Option()],
    to: list[str] | None = None,
    brand: str | None = None,
    kind: list[NotificationKind] | None = None,
    quiet: Annotated[str | None, typer.Option(metavar="HH:MM-HH:MM")] = None,
    summary: Annotated[str | None, typer.Option(metavar="'DAY HH:MM'")] = None,
    time_zone: str = "UTC",
    group: Annotated[int, typer.Option(min=0, max=86_400)] = 60,
) -> Result:
    """Makes or replaces a route for notifications; options left out take their defaults.

    For example:

        brandctl notifications set ops --account ops-telegram --quiet 22:00-07:00 --time-zone Europe/Berlin
        brandctl notifications set acme --account acme-slack --brand acme --kind waiting --kind audits
        brandctl notifications set mail --account mail --to ops@example.org --summary "monday 08:00"

    Options:
        account: The gateway's account that sends the messages.
        to: Mail address, or another chat of the account; repeat for more.
        brand: Only about this brand. [default: all brands and the system]
        kind: Only this kind; repeat for more. [default: all]
        quiet: Hours in which only critical notifications are sent.
        summary: Time of the weekly summary. [default: never]
        time_zone: Of both.
        group: Seconds in which notifications are collected into one message.
    """
    wanted: dict[str, Any] = {
        "quiet_hours": None if quiet is None else _quiet(quiet, time_zone),
        "summary": None if summary is None else _summary(summary, time_zone),
        "group_seconds": group,
    }
    route = monitor.set_notification_route(
        name, account=account, to=to or [], brand=brand, kinds=kind or [], **wanted
    )
    return _shown(route)


@app.command()
def remove(monitor: Monitor, name: Name) -> Result:
    """Removes a route; its messages stay in the log."""
    monitor.delete_notification_route(name)
    return Result({"removed": name}, remark=f"the route {printable(name)} is removed")


@app.command("test")
def try_out(monitor: Monitor, name: Name) -> Result:
    """Sends a test message now; exit code 1 if it does not arrive."""
    message = monitor.test_notification_route(name)
    problem = "" if message["problem"] is None else printable(message["problem"])
    if message["state"] != "sent":
        return Result(message, error=f"The test message did not arrive: {problem}")
    return Result(message, remark=f"the test message was taken{f', but {problem}' if problem else ''}")


@app.command()
def log(
    monitor: Monitor,
    route: str | None = None,
    state: MessageState | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists messages of the last 90 days that were sent, wait or failed, newest first.

    Options:
        route: Only this route. [default: all]
        state: Only this state. [default: all]
    """
    return _LOG.of(monitor.list_notification_messages(route=route, state=state, before=after, limit=limit))


def _shown(route: "answers.RouteView") -> Result:
    quiet, summary = route["quiet_hours"], route["summary"]
    told = {
        "name": route["name"],
        "account": route["account"],
        "to": ", ".join(route["to"]),
        "brand": route["brand"] or "all, as operators",
        "kinds": ", ".join(route["kinds"]) or "all",
        "quiet hours": quiet and f"{quiet['begin']}-{quiet['end']} {quiet['time_zone']}",
        "together within": f"{route['group_seconds']} s",
        "weekly summary": summary and f"{summary['weekday']} {summary['at']} {summary['time_zone']}",
        "state": route["state"],
        "problem": route["problem"],
        "failing since": to_minute(route["failing_since"]),
        "last sent": to_minute(route["last_sent_at"]),
    }

    def show_settings() -> None:
        for name, value in told.items():
            if value:
                line = f"{name + ':':<16} {printable(str(value))}"
                out().print(line, markup=False, highlight=False, soft_wrap=True)

    return Result(route, show_settings)


def _quiet(text: str, time_zone: str) -> dict[str, str]:
    begin, dash, end = text.partition("-")
    if not dash:
        raise UsageError("--quiet: write it like 22:00-07:00")
    return {"begin": begin.strip(), "end": end.strip(), "time_zone": time_zone}


def _summary(text: str, time_zone: str) -> dict[str, str]:
    weekday, space, at = text.strip().partition(" ")
    if not space:
        raise UsageError("--summary: write it like 'monday 08:00'")
    return {"weekday": weekday.lower(), "at": at.strip(), "time_zone": time_zone}
