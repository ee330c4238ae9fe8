"""`brandctl spend`: spending, budgets, the ledger, and stopping."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from brandctl.commands import Group, Result, table
from brandctl.tables import show_table
from brandctl.times import to_second
from client.pages import read_up_to
from client.services.gateway import Gateway

if TYPE_CHECKING:
    from client.services.gateway import answers

app = Group(
    "spend",
    """Shows and limits the spending on searches and models.

Amounts are dollars; days and months are those of UTC. The most that a call may cost is set aside before the call, and its
cost is counted afterwards. If a cap has no room, work waits until the next day or month.

For example:

    brandctl spend
    brandctl spend cap acme --day 5 --month 60
    brandctl spend stop --why "prices have changed"
""",
    Gateway,
    no_args_is_help=False,
)

_MICROS: Final = 1_000_000
_ALL: Final = "*"

Brand = Annotated[str | None, typer.Option("--brand", help="Slug of one brand.", show_default="all of them")]


@app.callback(invoke_without_command=True)
def spend(context: typer.Context, gateway: Gateway, brand: Brand = None) -> Result | None:
    """Without a command: shows the spending of today and this month, and the caps."""
    return None if context.invoked_subcommand is not None else _shown(gateway.get_spend(brand=brand))


@app.command()
def calls(
    gateway: Gateway, brand: Brand = None, limit: Annotated[int, typer.Option(min=1, max=500)] = 50
) -> Result:
    """Lists the ledger: every call that may have cost something, newest first.

    Options:
        limit: How many.
    """
    # The former name of the cursor, which gateways of earlier versions know, too.
    found = read_up_to(limit, gateway.list_spend_calls, cursor="before", brand=brand)
    if not found["items"]:
        return Result(found, error="No call was made.")
    rows = [
        (
            to_second(each["began_at"]),
            each["brand"],
            each["provider"],
            each["subject"],
            each["state"],
            dollars(each["spent"]),
            dollars(each["maximum"]),
            each["problem"] or "",
        )
        for each in found["items"]
    ]
    headings = ("began", "brand", "provider", "subject", "state", "spent", "at most", "problem")
    return Result(found, table(headings, rows))


@app.command()
def cap(
    gateway: Gateway,
    scope: Annotated[str, typer.Argument(metavar="BRAND")],
    day: str | None = None,
    month: str | None = None,
) -> Result:
    """Sets how much a brand may spend; caps left out follow the gateway's configuration.

    For example:

        brandctl spend cap acme --day 5
        brandctl spend cap '*' --day 20 --month 200

    Options:
        scope: Slug of a brand; '*' means all brands together.
        day: Dollars a day. [default: as configured]
        month: Dollars a month. [default: as configured]
    """
    return _shown(gateway.set_spend_cap(scope, day=day, month=month))


@app.command()
def stop(gateway: Gateway, brand: Brand = None, why: str = "") -> Result:
    """Stops spending. Calls under way end; other work waits until `brandctl spend resume`.

    Options:
        why: Reason, which refused requests get.
    """
    answer = gateway.stop_spending(scope=brand or _ALL, why=why)
    return Result(answer, remark=f"spending {_of(brand)} is stopped; `brandctl spend resume` continues it")


@app.command()
def resume(gateway: Gateway, brand: Brand = None) -> Result:
    """Resumes spending after `brandctl spend stop`."""
    answer = gateway.resume_spending(scope=brand or _ALL)
    return Result(answer, remark=f"spending {_of(brand)} continues")


def _of(brand: str | None) -> str:
    return f"by {brand}" if brand else "by all brands"


def _shown(found: "answers.SpendView") -> Result:
    scopes = [
        (
            each["scope"],
            dollars(each["day"]["spent"]),
            dollars(each["day"]["cap"]),
            dollars(each["day"]["reserved"]),
            dollars(each["month"]["spent"]),
            dollars(each["month"]["cap"]),
            "on" if each["stopped"] is None else f"stopped: {each['stopped']}",
        )
        for each in found["scopes"]
    ]
    providers = [
        (each["brand"], each["provider"], str(each["calls"]), dollars(each["spent"]))
        for each in found["providers"]
    ]

    def show_tables() -> None:
        show_table(("scope", "today", "of", "set aside", "this month", "of", "spending"), scopes)
        if providers:
            show_table(("brand", "provider", "calls this month", "spent"), providers)

    return Result(found, show_tables)


def dollars(micros: int | None) -> str:
    """Formats an amount with cents at least and all further digits."""
    if micros is None:
        return "no cap"
    whole, part = divmod(micros, _MICROS)
    digits = f"{part:06d}"
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"
