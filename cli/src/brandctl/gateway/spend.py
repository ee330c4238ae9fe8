"""`brandctl spend`: spending, budgets, the ledger, and stopping."""

from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import CommandError
from brandctl.gateway.client import GatewayClient, GatewayUrl
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="spend",
    help=f"""Shows and limits the spending on searches and models.

Amounts are dollars; days and months are those of UTC. The most that a call may cost is set aside before the call, and its
cost is counted afterwards. If a cap has no room, work waits until the next day or month.

{GatewayClient.help()}

For example:

    brandctl spend
    brandctl spend cap acme --day 5 --month 60
    brandctl spend stop --why "prices have changed"
""",
)

_MICROS: Final = 1_000_000
_ALL: Final = "*"

Brand = Annotated[str | None, typer.Option("--brand", help="Slug of one brand.", show_default="all of them")]


@app.callback(invoke_without_command=True)
def spend(
    context: typer.Context,
    brand: Brand = None,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Without a command: shows the spending of today and this month, and the caps."""
    if context.invoked_subcommand is not None:
        return
    with GatewayClient.at(gateway_url, key_file) as gateway:
        _show(gateway.call("GET", "/spend", brand=brand), as_json=as_json)


@app.command()
def calls(
    brand: Brand = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 50,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the ledger: every call that may have cost something, newest first."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        found = gateway.entries("/spend/calls", brand=brand, limit=limit)
    if as_json:
        print_json(found)
    elif found["items"]:
        show_table(
            ("began", "brand", "provider", "subject", "state", "spent", "at most", "problem"),
            [
                (
                    each["began_at"][:19].replace("T", " "),
                    each["brand"],
                    each["provider"],
                    each["subject"],
                    each["state"],
                    _dollars(each["spent"]),
                    _dollars(each["maximum"]),
                    each["problem"] or "",
                )
                for each in found["items"]
            ],
        )
    if not found["items"]:
        raise CommandError("No call was made.")


@app.command()
def cap(
    scope: Annotated[
        str, typer.Argument(metavar="BRAND", help="Slug of a brand; '*' means all brands together.")
    ],
    day: Annotated[str | None, typer.Option(help="Dollars a day.", show_default="as configured")] = None,
    month: Annotated[str | None, typer.Option(help="Dollars a month.", show_default="as configured")] = None,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sets how much a brand may spend; caps left out follow the gateway's configuration.

    For example:

        brandctl spend cap acme --day 5
        brandctl spend cap '*' --day 20 --month 200
    """
    with GatewayClient.at(gateway_url, key_file) as gateway:
        caps = f"/spend/caps/{quote(scope, safe='')}"
        _show(gateway.call("PUT", caps, {"day": day, "month": month}), as_json=as_json)


@app.command()
def stop(
    brand: Brand = None,
    why: Annotated[str, typer.Option(help="Reason, which refused requests get.")] = "",
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Stops spending. Calls under way end; other work waits until `brandctl spend resume`."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        answer = gateway.call("POST", "/spend/stop", {"scope": brand or _ALL, "why": why})
    if as_json:
        print_json(answer)
    note(f"spending {_of(brand)} is stopped; `brandctl spend resume` continues it")


@app.command()
def resume(
    brand: Brand = None, as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None
) -> None:
    """Resumes spending after `brandctl spend stop`."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        answer = gateway.call("POST", "/spend/resume", {"scope": brand or _ALL})
    if as_json:
        print_json(answer)
    note(f"spending {_of(brand)} continues")


def _of(brand: str | None) -> str:
    return f"by {brand}" if brand else "by all brands"


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    show_table(
        ("scope", "today", "of", "set aside", "this month", "of", "spending"),
        [
            (
                each["scope"],
                _dollars(each["day"]["spent"]),
                _dollars(each["day"]["cap"]),
                _dollars(each["day"]["reserved"]),
                _dollars(each["month"]["spent"]),
                _dollars(each["month"]["cap"]),
                "on" if each["stopped"] is None else f"stopped: {each['stopped']}",
            )
            for each in found["scopes"]
        ],
    )
    if found["providers"]:
        show_table(
            ("brand", "provider", "calls this month", "spent"),
            [
                (each["brand"], each["provider"], str(each["calls"]), _dollars(each["spent"]))
                for each in found["providers"]
            ],
        )


def _dollars(micros: int | None) -> str:
    """Formats an amount with cents at least and all further digits."""
    if micros is None:
        return "no cap"
    whole, part = divmod(micros, _MICROS)
    digits = f"{part:06d}"
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"
