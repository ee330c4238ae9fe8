"""`brandctl hooks`: addresses of a brand that other systems send to."""

import json
from typing import Annotated, Any, Final, Literal, cast

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import Brand, Yes
from brandctl.terminal import printable
from client.services.events import Events

app = Group(
    "hooks",
    """Incoming webhooks: what other systems send becomes a command for a brand.

For example:

    brandctl hooks add acme cms --kind standard --keyword /article/title --when /action=published
    brandctl hooks arrivals acme cms
    brandctl hooks rotate acme cms
""",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the hook.")]

_HOOKS: Final = Listing(
    {
        "name": "name",
        "kind": "kind",
        "command": lambda each: each["command"].get("type", ""),
        "path": "path",
        "made by": "created_by",
    },
    nothing="there is no incoming webhook; make one with brandctl hooks add",
)
_ARRIVALS: Final = Listing(
    {
        "time": "received_at",
        "state": "state",
        "code": lambda each: each["code"] or "-",
        "reason": lambda each: each["detail"] or "",
        "result": lambda each: each["location"] or "",
        "id of sender": lambda each: each["sender_id"] or "",
    },
    nothing="nothing was sent in the last 30 days",
    colours={"done": "green", "waiting": "yellow", "ignored": "dim", "refused": "red"},
)


@app.command("list")
def list_hooks(events: Events, brand: Brand) -> Result:
    """Lists the incoming webhooks of a brand."""
    return _HOOKS.of(events.list_hooks(brand))


@app.command()
def show(events: Events, brand: Brand, name: Name) -> Result:
    """Shows an incoming webhook, and the command that bodies become."""
    found: Any = events.get_hook(brand, name)
    told = [
        f"{name} is of the kind {found['kind']} and takes POST at {_path_of(found)}",
        f"a body becomes: {json.dumps(found['command'], ensure_ascii=False)}",
    ]
    if found["former_secret_until"]:
        told.append(f"the former secret is valid until {found['former_secret_until']}")
    return Result(found, remark=told)


@app.command()
def add(
    events: Events,
    brand: Brand,
    name: Name,
    kind: Literal["standard", "github", "path"] = "standard",
    type_: Annotated[Literal["cycle.start", "brand.audit"], typer.Option("--type")] = "cycle.start",
    keyword: list[str] | None = None,
    data: str | None = None,
    when: list[str] | None = None,
    event: list[str] | None = None,
) -> Result:
    """Makes an incoming webhook and prints its secret, this once; or changes the one of this name.

    Options:
        kind: How senders prove who they are: standard (Standard Webhooks), github, or path (a secret in the address).
        type_: The command that a body becomes.
        keyword: A keyword, or the place of one in the body, /article/title; several times for several.
        data: The command's data as JSON, with {"from": "/place"} for values of the body; instead of --keyword.
        when: Takes only bodies with this value, /action=published; several times for several.
        event: Of the kind github: only this event; several times for several. [default: all]
    """
    command: dict[str, Any] = {"type": type_, "data": _data(keyword, data), "when": _conditions(when)}
    command["events"] = event or None
    made: Any = events.set_hook(brand, name, kind=kind, command=cast("Any", command))
    if made["secret"] is None:
        return Result(made, remark=[f"{name} is changed; its secret stays"])
    return _with_secret(made, f"Send to {_path_of(made)}. The secret is shown this once.")


def _data(keywords: list[str] | None, text: str | None) -> Any:
    if text is None:
        listed = [{"from": each} if each.startswith("/") else each for each in keywords or ()]
        return {"keywords": listed} if listed else {}
    if keywords:
        raise UsageError("give --keyword or --data")
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"--data is not valid JSON: {error}") from error


def _conditions(given: list[str] | None) -> dict[str, Any]:
    found = {}
    for each in given or ():
        place, equals, text = each.partition("=")
        if not equals:
            raise UsageError(f"--when {each}: write it as /place=value")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        found[place] = value
    return found


def _path_of(hook: Any) -> str:
    return f"{hook['path']}/SECRET" if hook["kind"] == "path" else str(hook["path"])


def _with_secret(made: Any, remark: str) -> Result:
    return Result(made, lambda: typer.echo(printable(made["secret"])), remark=[remark])


@app.command()
def rotate(events: Events, brand: Brand, name: Name, grace_hours: int = 24) -> Result:
    """Gives an incoming webhook a new secret and prints it, this once. A second rotation ends the oldest secret at once.

    Options:
        grace_hours: Hours for which the former secret stays valid.
    """
    made: Any = events.rotate_hook(brand, name, grace_hours=grace_hours)
    return _with_secret(made, f"The former secret is valid for {grace_hours} hours.")


@app.command()
def remove(events: Events, brand: Brand, name: Name, yes: Yes = False) -> Result:
    """Removes an incoming webhook, and what still waits."""
    events.get_hook(brand, name)
    if not yes:
        confirm(f"Remove the incoming webhook {name} of {brand}?")
    events.delete_hook(brand, name)
    return Result({"deleted": name}, remark=[f"{name} is removed"])


@app.command()
def arrivals(events: Events, brand: Brand, name: Name) -> Result:
    """Lists the last hundred requests, the newest first, with the reasons of refusals."""
    return _ARRIVALS.of(events.list_hook_arrivals(brand, name))
