"""`brandctl dead-letters`: look at what could not be handled, and decide about it."""

import json
import os
import time
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    name="dead-letters",
    help="""Messages that could not be handled: list, show, replay, discard.

    Needs MONITOR_URL and SERVICE_KEY in the environment; while `make demo` runs, they are read from .local/demo.env.
    """,
    no_args_is_help=True,
)

DEMO_ENVIRONMENT: Final = Path(".local/demo.env")
_WAIT_SECONDS: Final = 60.0

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


class CommandError(Exception):
    """What went wrong, for a person."""


class Monitor:
    """The monitor's HTTP API."""

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx.Client(base_url=url, headers={"X-Service-Key": key}, timeout=30, trust_env=False)

    def get(self, path: str, **query: Any) -> Any:
        return self._call(
            "GET", path, params={name: value for name, value in query.items() if value is not None}
        )

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._call("POST", path, json=body)

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        try:
            answer = self._client.request(method, path, **arguments)
        except httpx.TransportError as error:
            raise CommandError(f"cannot reach the monitor at {self._client.base_url}: {error}") from error
        if answer.is_error:
            raise CommandError(_detail(answer))
        return answer.json() if answer.content else None


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the monitor answered {answer.status_code}"


def monitor() -> Monitor:
    """The monitor that the environment names, or that of the demo running in this folder."""
    settings = _demo_environment() | {
        name: value for name in ("MONITOR_URL", "SERVICE_KEY") if (value := os.environ.get(name))
    }
    missing = [name for name in ("MONITOR_URL", "SERVICE_KEY") if not settings.get(name)]
    if missing:
        raise CommandError(f"{' and '.join(missing)} not set, and no demo is running in this folder")
    return Monitor(settings["MONITOR_URL"], settings["SERVICE_KEY"])


def _demo_environment() -> dict[str, str]:
    if not DEMO_ENVIRONMENT.is_file():
        return {}
    lines = DEMO_ENVIRONMENT.read_text().splitlines()
    pairs = (line.removeprefix("export ").split("=", 1) for line in lines if "=" in line)
    return {name.strip(): value.strip().strip("'\"") for name, value in pairs}


@app.command(name="list")
def list_dead_letters(
    state: Annotated[
        str, typer.Option(help="open, replaying, resolved, superseded, discarded or all.")
    ] = "open",
    queue: Annotated[
        str | None, typer.Option(help="Only those of this queue, e.g. research-commands.")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only this message type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    as_json: Json = False,
) -> None:
    """Lists dead letters, newest first.

    Example: brandctl dead-letters list --queue publisher-commands
    """
    page = monitor().get(
        "/v1/dead-letters", state=None if state == "all" else state, queue=queue, type=type_, limit=limit
    )
    if as_json:
        _print_json(page)
        return
    console = Console()
    if not page["dead_letters"]:
        console.print(f"No dead letters here. {page['open']} open in all.")
        return
    table = Table("id", "failed at", "queue", "type", "reason", "detail", "state")
    for letter in page["dead_letters"]:
        table.add_row(
            letter["id"],
            letter["failed_at"][:19],
            letter["queue"],
            letter["type"] or "-",
            letter["reason"],
            letter["detail"][:80],
            letter["state"],
        )
    console.print(table)
    console.print(f"{page['open']} open in all. Next: brandctl dead-letters show ID")


@app.command()
def show(identity: Annotated[str, typer.Argument(metavar="ID")], as_json: Json = False) -> None:
    """Shows one dead letter: facts, stack and body."""
    letter = monitor().get(f"/v1/dead-letters/{identity}")
    if as_json:
        _print_json(letter)
        return
    console = Console(highlight=False)
    for name, value in letter.items():
        if value is not None and name not in {"body", "body_base64", "headers", "stack"}:
            console.print(f"[bold]{name:>16}[/]  {value}", markup=True, soft_wrap=True)
    if letter["stack"]:
        console.print(f"\n{letter['stack'].rstrip()}", markup=False)
    console.print()
    if isinstance(letter["body"], str):
        console.print(letter["body"], markup=False)
    else:
        console.print_json(data=letter["body"])


@app.command()
def replay(
    identity: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All open ones that match --queue and --type.")] = False,
    queue: Annotated[str | None, typer.Option(help="With --all: only those of this queue.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="With --all: only this message type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="With --all: at most so many.")] = 100,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is resolved or dead again.")] = False,
) -> None:
    """Sends dead letters back to the queue that they died in, as new messages of the same conversation.

    A dead letter counts as resolved when its consumer has handled the replay.

    Examples: brandctl dead-letters replay 0193… --wait;  brandctl dead-letters replay --all --queue social-commands
    """
    if (identity is None) != all_:
        raise typer.BadParameter("name one dead letter, or use --all")
    api = monitor()
    if identity is not None:
        api.post(f"/v1/dead-letters/{identity}/replay")
        ids = [identity]
    else:
        if not yes:
            which = " ".join(filter(None, [f"of {queue}" if queue else "", type_ or ""])) or "of every queue"
            typer.confirm(f"Replay up to {limit} open dead letters {which}?", abort=True)
        ids = api.post("/v1/dead-letters/replay", {"queue": queue, "type": type_, "limit": limit})["ids"]
    typer.echo(f"sent {len(ids)} back")
    if wait and not _wait(api, ids):
        raise typer.Exit(1)


@app.command()
def discard(
    identity: Annotated[str, typer.Argument(metavar="ID")],
    reason: Annotated[str, typer.Option(help="Why it will not be handled; stays on record.")],
) -> None:
    """Closes a dead letter that will not be handled."""
    monitor().post(f"/v1/dead-letters/{identity}/discard", {"reason": reason})
    typer.echo("discarded")


def _wait(api: Monitor, ids: list[str]) -> bool:
    """Waits for the replays to end; whether all were handled."""
    deadline, pause, open_ = time.monotonic() + _WAIT_SECONDS, 0.2, set(ids)
    well = True
    while open_ and time.monotonic() < deadline:
        for identity in sorted(open_):
            letter = api.get(f"/v1/dead-letters/{identity}")
            if letter["state"] != "replaying":
                open_.discard(identity)
                well = well and letter["state"] == "resolved"
                typer.echo(f"{identity}: {letter['state']}")
        if open_:
            time.sleep(pause)
            pause = min(pause * 1.5, 2.0)
    for identity in sorted(open_):
        typer.echo(f"{identity}: no outcome within {_WAIT_SECONDS:g} s; look again later", err=True)
    return well and not open_


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))
