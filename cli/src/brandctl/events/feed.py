"""`brandctl events`: what happened, as other systems read it."""

import json
import time
from datetime import datetime
from typing import Annotated, Any, Final, NoReturn

import typer

from brandctl.commands import Group, Result
from brandctl.listing import Listing
from brandctl.options import AfterNumber, Limit, OfBrand
from brandctl.terminal import printable
from client.services.events import Events

app = Group(
    "events",
    """Lists what happened, and follows it.

The events of all services, in one order, for as long as `events` keeps them. Its address comes from EVENTS_URL, the key from SERVICE_KEY or
--key-file; beside a local run, `.local/endpoints.json` holds both.

For example:

    brandctl events list --brand daily-grind --type content.published
    brandctl events follow
""",
)
_PAUSE_SECONDS: Final = 1.0
_PAGE: Final = 200


def _subject(event: dict[str, Any]) -> str:
    data = event["data"]
    shown = (
        data.get(name)
        for name in ("keyword", "published_url", "post_url", "platform", "state", "reason", "service")
    )
    return next((str(each) for each in shown if each), "")


_EVENTS: Final = Listing(
    {
        "place": lambda event: event["sequence"].lstrip("0"),
        "time": "time",
        "type": "type",
        "brand": lambda event: event.get("brand") or "",
        "about": _subject,
    },
    nothing="no such event is kept",
)

Types = Annotated[
    str | None, typer.Option("--type", help="Only these types, separated by commas.", show_default="all")
]
Chain = Annotated[str | None, typer.Option("--correlation-id", help="Only events of this chain.")]


@app.command("list")
def list_events(
    events: Events,
    brand: OfBrand = None,
    types: Types = None,
    correlation_id: Chain = None,
    since: datetime | None = None,
    after: AfterNumber = None,
    limit: Limit = 50,
) -> Result:
    """Lists events, the oldest first.

    For example:

        brandctl events list --since 2026-11-28T14:00 --json | jq -r '.items[].data.published_url'

    Options:
        since: Only events that were stored at this time or later, UTC.
    """
    page = events.list_events(
        brand=brand, types=types, correlation_id=correlation_id, since=since, after=after, limit=limit
    )
    return _EVENTS.of(page, brand=brand)


@app.command()
def follow(
    events: Events,
    brand: OfBrand = None,
    types: Types = None,
    correlation_id: Chain = None,
    as_json: bool = False,
    stop_after: Annotated[int | None, typer.Option(min=1)] = None,
) -> NoReturn:
    """Prints events as they come, until you press Ctrl-C; with --json, one CloudEvent on a line.

    For example:

        brandctl events follow --type content.published --json

    Options:
        stop_after: End after so many events.
    """
    place: int | None = None
    shown = 0
    while True:
        page: Any = (
            events.list_events(since=datetime.now().astimezone(), limit=1)
            if place is None
            else events.list_events(
                brand=brand, types=types, correlation_id=correlation_id, after=place, limit=_PAGE
            )
        )
        is_first, place = place is None, page["last"]
        for event in () if is_first else page["items"]:
            _show(event, as_json=as_json)
            shown += 1
            if shown == stop_after:
                raise typer.Exit
        if page["next"] is None:
            time.sleep(_PAUSE_SECONDS)


def _show(event: dict[str, Any], *, as_json: bool) -> None:
    columns = (event["time"], event["type"], event.get("brand") or "-", _subject(event))
    typer.echo(json.dumps(event) if as_json else printable("  ".join(columns)))
