"""`brandctl subscriptions`: readers that pull events."""

from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.listing import Listing
from brandctl.options import AfterCursor, AfterNumber, Limit, Yes
from client.services.events import Events

app = Group(
    "subscriptions",
    """Makes subscriptions, through which other systems take events, and shows how far behind they are.

For example:

    brandctl subscriptions create crm --type content.published --begin oldest
    brandctl subscriptions show crm
    brandctl subscriptions dead-letters crm
""",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the subscription.")]


def _all_or(names: list[str] | None) -> str:
    return "all" if names is None else ", ".join(names)


_SUBSCRIPTIONS: Final = Listing(
    {
        "name": "name",
        "brands": lambda each: _all_or(each["brands"]),
        "types": lambda each: _all_or(each["types"]),
        "last pull": lambda each: each["pulled_at"] or "never",
    },
    nothing="there is no subscription; make one with brandctl subscriptions create",
)
_DEAD: Final = Listing(
    {
        "place": lambda each: str(each["place"]),
        "died": "died_at",
        "deliveries": lambda each: str(each["deliveries"]),
        "type": lambda each: each["event"]["type"],
        "brand": lambda each: each["event"].get("brand") or "",
    },
    nothing="no event of it is a dead letter",
)


@app.command("list")
def list_subscriptions(events: Events, after: AfterCursor = None, limit: Limit = 50) -> Result:
    """Lists subscriptions."""
    return _SUBSCRIPTIONS.of(events.list_subscriptions(after=after, limit=limit))


@app.command()
def show(events: Events, name: Name) -> Result:
    """Shows a subscription, and how many events are before it.

    Exit code 1: its reader has missed events, or left some as dead letters.
    """
    found: Any = events.get_subscription(name)
    told = [
        f"{name}: brands {_all_or(found['brands'])}, types {_all_or(found['types'])}",
        (
            f"{found['behind']:,} to come, {found['leased']:,} with its reader, {found['waiting']:,} to come again,"
            f" {found['dead']:,} dead letters"
        ),
        f"last pull: {found['pulled_at'] or 'never'}",
    ]
    if found["oldest"]:
        told.append(f"the oldest that is not handled happened at {found['oldest']}")
    if found["missed_until"]:
        told.append(f"events before {found['missed_until']} were forgotten before they were taken")
    return Result(found, remark=told, fails=bool(found["dead"] or found["missed_until"]))


@app.command()
def create(
    events: Events,
    name: Name,
    brand: Annotated[list[str] | None, typer.Option("--brand")] = None,
    type_: Annotated[list[str] | None, typer.Option("--type")] = None,
    begin: Literal["now", "oldest"] = "now",
    max_deliveries: Annotated[int, typer.Option(min=1, max=1000)] = 10,
) -> Result:
    """Makes a subscription; one that is there for the same events stays, with the new --max-deliveries.

    For example:

        brandctl subscriptions create crm --brand daily-grind --type content.published --type social.posted

    Options:
        brand: Only events of this brand; several times for several. [default: all that the key may see]
        type_: Only events of this type; several times for several. [default: all]
        begin: Whether a new one begins with what comes from now on, or with the oldest event that is kept.
        max_deliveries: After so many deliveries that are not acknowledged, an event is a dead letter.
    """
    made = events.set_subscription(
        name, brands=brand or None, types=type_ or None, begin=begin, max_deliveries=max_deliveries
    )
    return Result(
        made, remark=[f"{name} is there; its reader takes events with POST /v1/subscriptions/{name}/pull"]
    )


@app.command()
def delete(events: Events, name: Name, yes: Yes = False) -> Result:
    """Removes a subscription and its place; the events stay for others."""
    events.get_subscription(name)
    if not yes:
        confirm(f"Remove the subscription {name}? Its reader will have to begin anew.")
    events.delete_subscription(name)
    return Result({"deleted": name}, remark=[f"{name} is removed"])


@app.command("dead-letters")
def dead_letters(events: Events, name: Name, after: AfterNumber = None, limit: Limit = 50) -> Result:
    """Lists events that the reader of a subscription did not handle."""
    return _DEAD.of(events.list_dead_events(name, after=after, limit=limit))


@app.command()
def revive(
    events: Events, name: Name, place: Annotated[list[int] | None, typer.Argument(metavar="PLACE")] = None
) -> Result:
    """Delivers dead letters of a subscription anew: those at the given places, as `dead-letters` lists them, or all."""
    done = events.revive_dead_events(name, places=place or None)
    return Result(done, remark=[f"{done['revived']:,} delivered anew"], fails=not done["revived"])
