"""`brandctl keys`: API keys of the orchestrator."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from brandctl.commands import Group, Result
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import Positive
from brandctl.settings import given
from brandctl.short_ids import parse_reference
from brandctl.terminal import printable
from brandctl.times import to_minute
from client.pages import items_of
from client.services.orchestrator import Orchestrator, Scope

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "keys",
    """Makes, lists, rotates and revokes API keys of the orchestrator. It needs the service key, or a key with the scope admin.

For example:

    brandctl keys create newsroom --scope read --scope submit --brand acme --expires 90d > newsroom.key
    brandctl keys rotate newsroom --grace 24h > newsroom.key
    brandctl keys revoke newsroom
""",
    Orchestrator,
)

_UNITS: Final = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def _state(key: dict[str, Any]) -> str:
    if key["revoked_at"] is not None:
        return "revoked"
    return "expired" if key["is_expired"] else "open"


_KEYS: Final = Listing(
    {
        "id": "key_id",
        "name": "name",
        "state": _state,
        "scopes": lambda key: " ".join(key["scopes"]),
        "brands": lambda key: "all" if key["brands"] is None else " ".join(key["brands"]),
        "a minute": "per_minute",
        "expires": lambda key: (key["expires_at"] or "never")[:10],
        "last used": lambda key: to_minute(key["last_used_at"]) or "never",
    },
    nothing="there is no key yet; make one with brandctl keys create",
    colours={"open": "green", "expired": "yellow", "revoked": "red"},
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", parser=parse_reference, help="Name of the key, or its id.")
]


@app.command()
def create(
    orchestrator: Orchestrator,
    name: str,
    scope: Annotated[list[Scope], typer.Option()],
    brand: list[str] | None = None,
    expires: str | None = None,
    limit: Positive = None,
) -> Result:
    """Makes a key and prints it, this once.

    For example:

        brandctl keys create newsroom --scope read --scope submit --brand acme --expires 90d > newsroom.key

    Options:
        name: Name of the owner; the audit log shows it.
        scope: A scope of the key; none includes another; repeat for more.
        brand: Only for this brand; other brands stay invisible; repeat for more.
        expires: A day (2027-01-31), or a duration from now (90d). [default: never]
        limit: Requests in a minute. [default: the highest limit of its scopes]
    """
    expires_at = None if expires is None else _moment(expires)
    wanted = given(brands=brand or None, expires_at=expires_at, per_minute=limit)
    made = orchestrator.create_key(name=name, scopes=scope, **wanted)
    about = (
        f"Send it as “Authorization: Bearer …”. It is not shown again; its id is {made['about']['key_id']}."
    )
    return _shown(made, about)


@app.command("list")
def list_keys(orchestrator: Orchestrator) -> Result:
    """Lists all keys, revoked ones included, with scopes and last use."""
    return _KEYS.of({"items": list(items_of(orchestrator.list_keys, limit=200))})


@app.command()
def rotate(orchestrator: Orchestrator, name: Name, grace: str = "24h") -> Result:
    """Gives a key a new secret and prints it, this once. A second rotation ends the oldest secret at once.

    For example:

        brandctl keys rotate newsroom --grace 24h > newsroom.key

    Options:
        grace: How long the old secret stays valid: 30m, 24h, 7d or 0.
    """
    seconds = int(_span(grace, option="--grace").total_seconds())
    made = orchestrator.rotate_key(named_key(orchestrator, name)["key_id"], grace_seconds=seconds)
    until = made["about"]["former_until"]
    return _shown(
        made,
        f"The old secret is valid until {to_minute(until)} UTC."
        if until
        else "The old secret is not valid any more.",
    )


@app.command()
def limit(
    orchestrator: Orchestrator,
    name: Name,
    per_minute: Annotated[int | None, typer.Argument(metavar="[N]", min=1)] = None,
) -> Result:
    """Sets how many requests a minute a key may make; requests of the present minute count.

    For example:

        brandctl keys limit newsroom 1200

    Options:
        per_minute: Requests in a minute. [default: the highest limit of its scopes]
    """
    key = orchestrator.update_key(named_key(orchestrator, name)["key_id"], per_minute=per_minute)
    return Result(
        key, remark=f"{key['name']} ({key['key_id']}) may be used {key['per_minute']:,} times a minute"
    )


@app.command()
def revoke(orchestrator: Orchestrator, name: Name) -> Result:
    """Revokes a key for good, from the next request on. Its name is free again."""
    key = named_key(orchestrator, name)
    orchestrator.revoke_key(key["key_id"])
    return Result({"revoked": key["key_id"]}, remark=f"{key['name']} ({key['key_id']}) is revoked")


def named_key(orchestrator: Orchestrator, name: str) -> "answers.KeyView":
    """Returns the key with that id, or the unrevoked key of that name."""
    found: answers.KeyView
    for found in items_of(orchestrator.list_keys, limit=200):
        if name == found["key_id"] or (name == found["name"] and found["revoked_at"] is None):
            return found
    raise CommandError(f"there is no key {name} that is not revoked; brandctl keys list lists the keys")


def _shown(made: "answers.NewKeyView", about: str) -> Result:
    return Result(made, lambda: typer.echo(printable(made["key"])), remark=about)


def _span(text: str, *, option: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([mhd])|0", text, re.ASCII)
    if found is None:
        raise UsageError(f"{option} {text}: write a duration such as 30m, 24h or 7d")
    return int(found[1]) * _UNITS[found[2]] if found[1] else timedelta()


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return datetime.now(UTC) + _span(text, option="--expires")
        except (UsageError, OverflowError):
            raise UsageError(
                f"--expires {text}: write a day such as 2027-01-31, or a duration such as 90d"
            ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
