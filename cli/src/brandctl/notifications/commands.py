"""`brandctl notifications`: routes, open notifications, and the log of sent messages."""

from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient
from brandctl.errors import CommandError, UsageError
from brandctl.listing import AfterId, Limit, Listing, OfBrand
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable


class NotificationsClient(ServiceClient):
    """A client of the monitor; use it as a context manager. Every method may raise `ServiceError`."""

    service = "monitor"

    def call(self, method: str, path: str, body: Any = None, **parameters: Any) -> dict[str, Any]:
        return self._ask(method, f"/v1/notifications{path}", json=body, params=parameters)

    def route(self, method: str, name: str, body: Any = None, what: str = "") -> dict[str, Any]:
        return self.call(method, f"/routes/{quote(name, safe='')}{what}", body)


app = typer.Typer(
    name="notifications",
    no_args_is_help=True,
    help=f"""Sends notifications about problems and waiting work by Telegram, Slack, Discord, mail or webhook.

{NotificationsClient.help()}

For example:

    brandctl notifications set ops --account ops-telegram --quiet 22:00-07:00 --time-zone Europe/Berlin
    brandctl notifications set editors --account mail --to ed@example.org --brand acme --summary "monday 08:00"
    brandctl notifications test ops
    brandctl notifications list
    brandctl notifications log --state failed
""",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the route.")]
MonitorUrl = Annotated[str | None, NotificationsClient.address_option()]


class NotificationKindChoice(StrEnum):
    DEAD_LETTERS = "dead_letters"
    IN_DOUBT = "in_doubt"
    BUDGETS = "budgets"
    ACCOUNTS = "accounts"
    WAITING = "waiting"
    AUDITS = "audits"
    ROUTES = "routes"
    SERVICES = "services"


class NotificationStateChoice(StrEnum):
    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


OfKind = Annotated[
    NotificationKindChoice | None, typer.Option("--kind", help="Only this kind.", show_default="all")
]


def _when(moment: str | None) -> str:
    return "" if moment is None else moment[:16].replace("T", " ")


_NOTICED: Final = Listing[dict[str, Any]](
    {
        "id": lambda each: each["id"],
        "noticed": lambda each: _when(each["noticed_at"]),
        "brand": lambda each: each["brand"] or "",
        "kind": lambda each: each["kind"],
        "severity": lambda each: each["severity"],
        "state": lambda each: each["state"],
        "what": lambda each: each["title"] + ("" if each["count"] is None else f" ({each['count']})"),
        "look at it with": lambda each: each["command"],
    },
    nothing="no open notifications",
    colours={"critical": "red", "warning": "yellow", "acknowledged": "green", "resolved": "green"},
)
_ROUTES: Final = Listing[dict[str, Any]](
    {
        "name": lambda each: each["name"],
        "account": lambda each: each["account"],
        "to": lambda each: ", ".join(each["to"]),
        "brand": lambda each: each["brand"] or "",
        "kinds": lambda each: ", ".join(each["kinds"]) or "all",
        "state": lambda each: each["state"],
        "problem": lambda each: each["problem"] or "",
        "last sent": lambda each: _when(each["last_sent_at"]),
    },
    nothing="there are no routes, so no notification is sent: make one with brandctl notifications set",
    colours={"working": "green", "failing": "red"},
)
_LOG: Final = Listing[dict[str, Any]](
    {
        "id": lambda each: each["id"],
        "made": lambda each: _when(each["made_at"]),
        "route": lambda each: each["route"],
        "purpose": lambda each: each["purpose"],
        "state": lambda each: each["state"],
        "attempts": lambda each: str(each["attempts"]),
        "what": lambda each: each["title"],
        "problem": lambda each: each["problem"] or "",
    },
    nothing="nothing was sent",
    colours={"sent": "green", "failed": "red", "waiting": "yellow"},
)


@app.command("list")
def list_notifications(
    everything: Annotated[bool, typer.Option("--all", help="Also what is over.")] = False,
    kind: OfKind = None,
    brand: OfBrand = None,
    after: AfterId = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists open notifications, newest first."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        found = monitor.call(
            "GET", "", open=None if everything else "true", kind=kind, brand=brand, before=after, limit=limit
        )
    _NOTICED.show(found["items"], found, as_json=as_json, more=found["next"])


@app.command()
def acknowledge(
    notification: Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id, help="An id from `list`.")],
    by: Annotated[
        str | None, typer.Option(help="The person who takes care of it.", show_default="the key's name")
    ] = None,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Marks a notification as taken care of: only its resolution is sent from then on."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        done = monitor.call("POST", f"/{notification}/acknowledge", {} if by is None else {"by": by})
    if as_json:
        print_json(done)
    note(f"{printable(done['title'])}: {printable(str(done['acknowledged_by']))} takes care of it")


@app.command()
def routes(as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None) -> None:
    """Lists the routes, and whether each works."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        found = monitor.call("GET", "/routes")
    _ROUTES.show(found["items"], found, as_json=as_json)


@app.command()
def show(
    name: Name, as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None
) -> None:
    """Shows the settings of a route, and whether it works."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        route = monitor.route("GET", name)
    _show(route, as_json=as_json)


@app.command("set")
def set_route(
    name: Name,
    account: Annotated[str, typer.Option(help="The gateway's account that sends the messages.")],
    to: Annotated[
        list[str] | None,
        typer.Option(help="Mail address, or another chat of the account; repeat for more."),
    ] = None,
    brand: Annotated[
        str | None,
        typer.Option(help="Only about this brand.", show_default="all brands and the system"),
    ] = None,
    kind: Annotated[
        list[NotificationKindChoice] | None,
        typer.Option(help="Only this kind; repeat for more.", show_default="all"),
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(metavar="HH:MM-HH:MM", help="Hours in which only critical notifications are sent."),
    ] = None,
    summary: Annotated[
        str | None,
        typer.Option(metavar="'DAY HH:MM'", help="Time of the weekly summary.", show_default="never"),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Of both.")] = "UTC",
    group: Annotated[
        int,
        typer.Option(
            min=0, max=86_400, help="Seconds in which notifications are collected into one message."
        ),
    ] = 60,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes or replaces a route for notifications; options left out take their defaults.

    For example:

        brandctl notifications set ops --account ops-telegram --quiet 22:00-07:00 --time-zone Europe/Berlin
        brandctl notifications set acme --account acme-slack --brand acme --kind waiting --kind audits
        brandctl notifications set mail --account mail --to ops@example.org --summary "monday 08:00"
    """
    wanted = {
        "account": account,
        "to": to or [],
        "brand": brand,
        "kinds": [each.value for each in kind or []],
        "quiet_hours": None if quiet is None else _quiet(quiet, time_zone),
        "summary": None if summary is None else _summary(summary, time_zone),
        "group_seconds": group,
    }
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        route = monitor.route("PUT", name, wanted)
    _show(route, as_json=as_json)


@app.command()
def remove(
    name: Name, as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None
) -> None:
    """Removes a route; its messages stay in the log."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        monitor.route("DELETE", name)
    if as_json:
        print_json({"removed": name})
    note(f"the route {printable(name)} is removed")


@app.command("test")
def try_out(
    name: Name, as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None
) -> None:
    """Sends a test message now; exit code 1 if it does not arrive."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        message = monitor.route("POST", name, what="/test")
    if as_json:
        print_json(message)
    problem = "" if message["problem"] is None else printable(message["problem"])
    if message["state"] != NotificationStateChoice.SENT:
        raise CommandError(f"The test message did not arrive: {problem}")
    note(f"the test message was taken{f', but {problem}' if problem else ''}")


@app.command()
def log(
    route: Annotated[str | None, typer.Option(help="Only this route.", show_default="all")] = None,
    state: Annotated[
        NotificationStateChoice | None, typer.Option(help="Only this state.", show_default="all")
    ] = None,
    after: AfterId = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists messages of the last 90 days that were sent, wait or failed, newest first."""
    with NotificationsClient.at(monitor_url, key_file) as monitor:
        found = monitor.call("GET", "/messages", route=route, state=state, before=after, limit=limit)
    _LOG.show(found["items"], found, as_json=as_json, more=found["next"])


def _show(route: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(route)
        return
    quiet, summary = route["quiet_hours"], route["summary"]
    told = {
        **{name: route[name] for name in ("name", "account")},
        "to": ", ".join(route["to"]),
        "brand": route["brand"] or "all, as operators",
        "kinds": ", ".join(route["kinds"]) or "all",
        "quiet hours": quiet and f"{quiet['begin']}-{quiet['end']} {quiet['time_zone']}",
        "together within": f"{route['group_seconds']} s",
        "weekly summary": summary and f"{summary['weekday']} {summary['at']} {summary['time_zone']}",
        "state": route["state"],
        "problem": route["problem"],
        "failing since": _when(route["failing_since"]),
        "last sent": _when(route["last_sent_at"]),
    }
    for name, value in told.items():
        if value:
            out().print(
                f"{name + ':':<16} {printable(str(value))}", markup=False, highlight=False, soft_wrap=True
            )


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
