"""`brandctl broker-users`: users at the broker for systems that send commands by AMQP."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import Yes
from brandctl.orchestrator.keys import Name, named_key
from brandctl.terminal import printable
from client.pages import items_of
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from messaging.topology.users import Credentials

app = Group(
    "broker-users",
    """Users at the broker for other systems. Each belongs to an API key and has its scopes and brands; it may only send commands.

It needs the management API of the broker (RABBITMQ_API_URL, an administrator's), and a key with the scope admin.

For example:

    brandctl keys create shop --scope submit --brand acme > shop.key
    brandctl broker-users add shop > shop.broker
    brandctl broker-users refused shop
""",
)
ApiUrl = Annotated[
    str | None,
    typer.Option(envvar="RABBITMQ_API_URL", help="http://user:password@host:15672, an administrator's"),
]
Vhost = Annotated[str, typer.Option(envvar="RABBITMQ_VHOST", help="Virtual host of the broker.")]
_AnswerT = TypeVar("_AnswerT")
_USERS: Final = Listing(
    {
        "user": "user",
        "key": lambda each: each["name"] or "-",
        "state": "state",
        "scopes": lambda each: " ".join(each["scopes"]),
        "brands": lambda each: "all" if each["brands"] is None else " ".join(each["brands"]),
    },
    nothing="no other system has a user; add one with brandctl broker-users add",
    colours={"open": "green", "revoked": "red", "expired": "red", "unknown key": "red"},
)
_REFUSED: Final = Listing(
    {
        "time": "received_at",
        "id": lambda each: each["message_id"] or "-",
        "type": lambda each: each["type"] or "-",
        "code": "code",
        "reason": "detail",
    },
    nothing="nothing was refused in the last eight days",
)


@app.command()
def add(orchestrator: Orchestrator, name: Name, api_url: ApiUrl = None, vhost: Vhost = "/") -> Result:
    """Makes the user of an API key, and prints its name and password, this once."""
    from messaging.topology import OUTSIDE, OUTSIDE_KEY, outside  # noqa: PLC0415  (takes a second to load)

    key = named_key(orchestrator, name)
    if key["revoked_at"] is not None:
        raise UsageError(f"the key {name} was revoked; make another one first")
    made = _asked(lambda: outside.add(_given(api_url), vhost, key["key_id"]))
    return _shown(
        made,
        f"It may publish to the exchange “{OUTSIDE}” with the routing key “{OUTSIDE_KEY}”.",
    )


@app.command("list")
def list_users(orchestrator: Orchestrator, api_url: ApiUrl = None) -> Result:
    """Lists the users of other systems with their keys."""
    from messaging.topology import outside  # noqa: PLC0415

    found = _asked(lambda: outside.list_keys(_given(api_url)))
    keys = {each["key_id"]: each for each in items_of(orchestrator.list_keys, limit=200)}
    return _USERS.of({"items": [_line(outside.user_of(key_id), keys.get(key_id)) for key_id in found]})


@app.command()
def renew(orchestrator: Orchestrator, name: Name, api_url: ApiUrl = None, vhost: Vhost = "/") -> Result:
    """Gives a user a new password and prints it, this once. Open connections stay until they are closed."""
    from messaging.topology import outside  # noqa: PLC0415

    key = named_key(orchestrator, name)
    made = _asked(lambda: outside.renew(_given(api_url), vhost, key["key_id"]))
    return _shown(made, "The former password opens no new connection.")


@app.command()
def remove(orchestrator: Orchestrator, name: Name, api_url: ApiUrl = None, yes: Yes = False) -> Result:
    """Removes a user and closes its connections. The key stays; messages that wait are still handled."""
    from messaging.topology import outside  # noqa: PLC0415

    key = named_key(orchestrator, name)
    user = outside.user_of(key["key_id"])
    if not yes:
        confirm(f"Remove the user {user} of the key {name}?")
    if not _asked(lambda: outside.remove(_given(api_url), key["key_id"])):
        raise CommandError(f"the key {name} has no user")
    return Result({"deleted": user}, remark=[f"{user} is removed"])


@app.command()
def refused(orchestrator: Orchestrator, name: Name) -> Result:
    """Lists the last hundred messages of a user that were refused, with the reasons."""
    return _REFUSED.of(orchestrator.list_refused_commands(named_key(orchestrator, name)["key_id"]))


def _line(user: str, key: Any) -> dict[str, Any]:
    if key is None:
        return {"user": user, "name": None, "state": "unknown key", "scopes": [], "brands": []}
    state = "revoked" if key["revoked_at"] else "expired" if key["is_expired"] else "open"
    return {"user": user, "state": state} | {each: key[each] for each in ("name", "scopes", "brands")}


def _given(api_url: str | None) -> str:
    # An address in a variable may be in a file that another variable names.
    from chassis import secret_files  # noqa: PLC0415

    found = api_url or secret_files.read(os.environ, "RABBITMQ_API_URL")
    if not found:
        raise UsageError("RABBITMQ_API_URL is not set: http://user:password@host:15672, an administrator's")
    return found


def _asked(ask: Callable[[], _AnswerT]) -> _AnswerT:
    from messaging.topology.users import UsersError  # noqa: PLC0415

    try:
        return ask()
    except UsersError as error:
        raise CommandError(str(error)) from error


def _shown(made: "Credentials", remark: str) -> Result:
    return Result(
        {"user": made.user, "password": made.password},
        lambda: typer.echo(f"{printable(made.user)} {printable(made.password)}"),
        remark=[f"{remark} The password is not shown again."],
    )
