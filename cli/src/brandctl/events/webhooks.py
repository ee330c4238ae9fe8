"""`brandctl webhooks`: receivers that events of a brand are sent to."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterId, Brand, Limit, Yes
from client.services.events import Events

app = Group(
    "webhooks",
    """Sends events of a brand to other systems, signed, and shows what they answered.

First connect an account of the kind webhook, which has the address and the secret.

For example:

    brandctl accounts connect webhook --name crm --brand acme --url https://crm.example.org/hooks --no-secret
    brandctl webhooks add acme crm --account crm --type content.published
    brandctl webhooks test acme crm
    brandctl webhooks deliveries acme crm
""",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook.")]


def _all_or(names: list[str] | None) -> str:
    return "all" if names is None else ", ".join(names)


_WEBHOOKS: Final = Listing(
    {
        "name": "name",
        "state": "state",
        "account": "account",
        "types": lambda each: _all_or(each["types"]),
        "order": "order",
        "last delivery": lambda each: each["delivered_at"] or "never",
    },
    nothing="there is no webhook; make one with brandctl webhooks add",
    colours={"on": "green", "off": "dim", "failed": "red"},
)
_DELIVERIES: Final = Listing(
    {
        "place": lambda each: str(each["place"]),
        "time": "tried_at",
        "type": "type",
        "try": lambda each: str(each["number"]),
        "outcome": "outcome",
        "status": lambda each: str(each["status"] or "-"),
        "ms": lambda each: str(each["duration_ms"]),
        "problem": lambda each: each["problem"] or "",
    },
    nothing="nothing was sent in the last 30 days",
    colours={"delivered": "green", "failed": "yellow", "given_up": "red"},
)


@app.command("list")
def list_webhooks(events: Events, brand: Brand) -> Result:
    """Lists the webhooks of a brand."""
    return _WEBHOOKS.of(events.list_webhooks(brand))


@app.command()
def show(events: Events, brand: Brand, name: Name) -> Result:
    """Shows a webhook, and how many events are before it.

    Exit code 1: it is off since nothing arrives, or has given up events.
    """
    found: Any = events.get_webhook(brand, name)
    told = [
        f"{name} is {found['state']}: account {found['account']}, types {_all_or(found['types'])}, order {found['order']}",
        f"{found['behind']:,} to come, {found['waiting']:,} to be sent again, {found['dead']:,} given up",
        f"last delivery: {found['delivered_at'] or 'never'}",
    ]
    if found["problem"]:
        told.append(f"problem: {found['problem']}")
    if found["failing_since"]:
        told.append(f"nothing has arrived since {found['failing_since']}")
    if found["missed_until"]:
        told.append(f"events before {found['missed_until']} were forgotten before they were sent")
    return Result(found, remark=told, fails=found["state"] == "failed" or bool(found["dead"]))


@app.command()
def add(
    events: Events,
    brand: Brand,
    name: Name,
    account: Annotated[str, typer.Option()],
    type_: Annotated[list[str] | None, typer.Option("--type")] = None,
    order: Literal["strict", "none"] = "none",
    begin: Literal["now", "oldest"] = "now",
) -> Result:
    """Makes a webhook, or changes the one of this name.

    Options:
        account: Account of the kind webhook, which has the address and the secret.
        type_: Only events of this type; several times for several. [default: all]
        order: strict: an event waits for the one before it. none: an event that fails delays no other one.
        begin: Whether a new one begins with what comes from now on, or with the oldest event that is kept.
    """
    made: Any = events.set_webhook(
        brand, name, account=account, types=type_ or None, order=order, begin=begin
    )
    return Result(
        made, remark=[f"{name} is {made['state']}; try it with brandctl webhooks test {brand} {name}"]
    )


@app.command()
def remove(events: Events, brand: Brand, name: Name, yes: Yes = False) -> Result:
    """Removes a webhook and the log of its deliveries; the account stays."""
    events.get_webhook(brand, name)
    if not yes:
        confirm(f"Remove the webhook {name} of {brand}?")
    events.delete_webhook(brand, name)
    return Result({"deleted": name}, remark=[f"{name} is removed"])


@app.command()
def test(events: Events, brand: Brand, name: Name) -> Result:
    """Sends a test event now, and shows what the receiver answered.

    Exit code 1: it did not arrive.
    """
    told: Any = events.test_webhook(brand, name)
    remark = [
        f"the receiver took it: {told['status']} after {told['duration_ms']} ms"
        if told["delivered"]
        else f"it did not arrive: {told['problem']}"
    ]
    if told["answer"]:
        remark.append(f"it answered: {told['answer'][:200]}")
    return Result(told, remark=remark, fails=not told["delivered"])


@app.command()
def deliveries(
    events: Events,
    brand: Brand,
    name: Name,
    outcome: Literal["delivered", "failed", "given_up"] | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists each try of the last 30 days, the newest first; --json has the answers, too.

    Options:
        outcome: Only tries that ended so. [default: all]
    """
    return _DELIVERIES.of(
        events.list_webhook_deliveries(brand, name, outcome=outcome, after=after, limit=limit),
        brand=brand,
    )


@app.command()
def resend(
    events: Events,
    brand: Brand,
    name: Name,
    place: Annotated[list[int] | None, typer.Argument(metavar="PLACE")] = None,
    since: datetime | None = None,
    dead: bool = False,
) -> Result:
    """Sends events again: those at the given places, as `deliveries` lists them, all since a time, or all that were given up.

    Options:
        since: All events that were stored at this time or later, UTC.
        dead: All events that were given up.
    """
    if bool(place) + (since is not None) + dead != 1:
        raise UsageError("give places, --since or --dead")
    moment = None if since is None else (since if since.tzinfo else since.replace(tzinfo=UTC))
    done: Any = events.send_events_again(brand, name, places=place or None, since=moment, dead=dead)
    told = "past events are being sent again" if since is not None else f"{done['resent']:,} are sent again"
    return Result(done, remark=[told], fails=not (done["resent"] or done["resending"]))


@app.command()
def on(events: Events, brand: Brand, name: Name, skip_missed: bool = False) -> Result:
    """Turns a webhook on; what happened meanwhile is sent, the oldest first.

    Options:
        skip_missed: Send only what happens from now on.
    """
    return Result(events.enable_webhook(brand, name, skip_missed=skip_missed), remark=[f"{name} is on"])


@app.command()
def off(events: Events, brand: Brand, name: Name) -> Result:
    """Turns a webhook off; its events wait for 30 days."""
    return Result(events.disable_webhook(brand, name), remark=[f"{name} is off"])
