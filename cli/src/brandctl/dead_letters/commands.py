"""`brandctl dead-letters`: look at messages that died, replay them, or discard them."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from brandctl.access import AccessError, find_access
from brandctl.dead_letters import view
from brandctl.dead_letters.monitor import DeadLetter, Monitor, MonitorError
from brandctl.terminal import note, out, print_json

app = typer.Typer(
    name="dead-letters",
    no_args_is_help=True,
    help="""Messages that could not be handled: look at them, replay them, or discard them.

Each command asks the monitor service. It finds it through --monitor-url or MONITOR_URL, and the key through
SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` tells both.

Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage.

For example:

    brandctl dead-letters list
    brandctl dead-letters list --summary
    brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
    brandctl dead-letters replay --all --queue publisher-commands
    brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "…"
""",
)

_USAGE: Final = 2
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


class StateChoice(StrEnum):
    OPEN = "open"
    REPLAYING = "replaying"
    RESOLVED = "resolved"
    DISCARDED = "discarded"
    ALL = "all"


MonitorUrl = Annotated[
    str | None, typer.Option("--monitor-url", envvar="MONITOR_URL", help="Address of the monitor service.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")]
Queue = Annotated[str | None, typer.Option(help="Only those of this queue, such as research-commands.")]
TypeName = Annotated[
    str | None, typer.Option("--type", help="Only this message type, such as content.publish.")
]
Identity = Annotated[str, typer.Argument(metavar="ID", help="An id out of `list`.")]


@app.command("list")
def list_letters(
    state: Annotated[StateChoice, typer.Option(help="Only those in this state.")] = StateChoice.OPEN,
    queue: Queue = None,
    type_name: TypeName = None,
    correlation_id: Annotated[str | None, typer.Option(help="Only those of this chain of messages.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many.")] = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Those older than this one.")] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Group those that failed alike.")] = False,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists dead letters, newest first; exit code 1 if there are none.

    For example:

        brandctl dead-letters list --queue research-commands
        brandctl dead-letters list --state all --correlation-id 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
        brandctl dead-letters list --json | jq -r '.items[].id'
    """
    wanted_state = None if state is StateChoice.ALL else state.value
    if summary and (type_name or correlation_id or before or wanted_state is None):
        raise typer.BadParameter("goes with --state (one) and --queue only", param_hint="--summary")
    with _monitor(monitor_url, key_file) as monitor:
        if summary:
            _list_groups(monitor, wanted_state, queue, as_json=as_json)
            return
        page = monitor.page(
            state=wanted_state,
            queue=queue,
            type=type_name,
            correlation_id=correlation_id,
            limit=limit,
            before=before,
        )
    if as_json:
        print_json({"items": page.items, "next": page.next, "matching": page.matching, "open": page.open})
    elif page.items:
        view.show_list(out(), page.dead_letters())
    if page.next is not None:
        note(f"{len(page.items)} of {page.matching}. Older ones: add --before {page.next}")
    if not page.items:
        note(f"No dead letters match ({page.open} open in all).")
        raise typer.Exit(1)


@app.command()
def show(
    dead: Identity, as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None
) -> None:
    """Shows one dead letter: why it died, where, its headers and its body.

    For example:

        brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    """
    with _monitor(monitor_url, key_file) as monitor:
        letter = monitor.full(dead)
    if as_json:
        print_json(letter)
    else:
        view.show_full(out(), letter)


@app.command()
def replay(
    dead: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids out of `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All open ones, or those that match.")] = False,
    queue: Queue = None,
    type_name: TypeName = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is resolved or dead again.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="With --wait: at most so many seconds.")] = 120.0,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sends dead messages again, to the queue each died in. Do it once the cause is gone.

    A replay is a new message of the same chain. Its dead letter is resolved when the consumer has handled it; if it
    dies again, a new dead letter takes the old one's place. With --wait, exit code 0 means that all were handled.

    For example:

        brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
        brandctl dead-letters replay --all --queue publisher-commands
        brandctl dead-letters replay --all --type content.publish --yes --json
    """
    if everything == bool(dead):
        raise typer.BadParameter("give ids, or --all", param_hint="ID")
    if not everything and (queue or type_name):
        raise typer.BadParameter("go with --all", param_hint="--queue and --type")
    with _monitor(monitor_url, key_file) as monitor:
        refused: dict[str, str] = {}
        if everything:
            started = _replay_all(monitor, queue, type_name, yes=yes)
        else:
            started, refused = _replay_each(monitor, dead or [])
        ended = _wait(monitor, started, timeout) if wait else {}
    if as_json:
        print_json(_replay_report(started, refused, ended, waited=wait))
    _report_replays(started, refused, ended, waited=wait)
    handled = all(_was_handled(ended.get(one)) for one in started)
    raise typer.Exit(0 if started and not refused and (handled or not wait) else 1)


@app.command()
def discard(
    dead: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids out of `list`.")],
    reason: Annotated[str, typer.Option(help="Why it need not be handled; kept with it.")],
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Closes dead letters for good, without handling them.

    For example:

        brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "brand was closed"
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    discarded: list[str] = []
    refused: dict[str, str] = {}
    with _monitor(monitor_url, key_file) as monitor:
        for one in dict.fromkeys(dead):
            try:
                monitor.discard(one, reason)
                discarded.append(one)
            except MonitorError as error:
                refused[one] = str(error)
    if as_json:
        print_json({"discarded": discarded, "refused": _as_rows(refused)})
    for one in discarded:
        note(f"{one} discarded")
    for message in refused.values():
        note(message)
    raise typer.Exit(1 if refused else 0)


def _list_groups(monitor: Monitor, state: str | None, queue: str | None, *, as_json: bool) -> None:
    groups = monitor.summary(state=state, queue=queue)
    if as_json:
        print_json({"groups": groups})
    elif groups:
        view.show_groups(out(), groups)
    if not groups:
        note("No dead letters match.")
        raise typer.Exit(1)


def _replay_all(monitor: Monitor, queue: str | None, type_name: str | None, *, yes: bool) -> list[str]:
    page = monitor.page(state="open", queue=queue, type=type_name, replayable=True, limit=1)
    if page.matching == 0:
        note("No open dead letter that could be replayed matches.")
        raise typer.Exit(1)
    if not yes:
        _confirm(page.matching, queue, type_name)
    replayed: list[str] = []
    while len(replayed) < page.matching:
        # Only what was there when we asked: a replay that dies again at once must not be taken in a second time.
        more = monitor.replay_many(
            queue=queue, type_name=type_name, until=page.now, limit=page.matching - len(replayed)
        )
        if not more:
            break
        replayed += more
    return replayed


def _confirm(count: int, queue: str | None, type_name: str | None) -> None:
    selected = "".join([f" of {queue}" if queue else "", f" of type {type_name}" if type_name else ""])
    if not sys.stdin.isatty():
        note(f"This would replay {count} dead letters{selected}. Add --yes to do it without being asked.")
        raise typer.Exit(_USAGE)
    if not typer.confirm(f"Replay {count} dead letters{selected}?", err=True):
        note("Nothing was replayed.")
        raise typer.Exit(1)


def _replay_each(monitor: Monitor, dead: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    started: list[str] = []
    refused: dict[str, str] = {}
    for one in dict.fromkeys(dead):
        try:
            started.append(str(monitor.replay(one).id))
        except MonitorError as error:
            refused[one] = str(error)
    return started, refused


def _wait(monitor: Monitor, started: Sequence[str], timeout: float) -> dict[str, DeadLetter]:
    """Those that came to an end within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    waiting = list(started)
    ended: dict[str, DeadLetter] = {}
    while True:
        for one in waiting:
            letter = monitor.get(one)
            if letter.state != "replaying":
                ended[one] = letter
        waiting = [one for one in waiting if one not in ended]
        left = deadline - time.monotonic()
        if not waiting or left <= 0:
            return ended
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _was_handled(letter: DeadLetter | None) -> bool:
    return letter is not None and letter.state == "resolved" and not letter.died_again


def _outcome(letter: DeadLetter | None, *, waited: bool) -> str:
    if letter is None:
        return "waiting" if waited else "replaying"
    if letter.died_again:
        return "dead_again"
    return "handled" if _was_handled(letter) else letter.state


def _replay_report(
    started: Sequence[str], refused: dict[str, str], ended: dict[str, DeadLetter], *, waited: bool
) -> dict[str, Any]:
    return {
        "replayed": [
            {
                "id": one,
                "outcome": _outcome(ended.get(one), waited=waited),
                "replaced_by": str(ended[one].replaced_by)
                if one in ended and ended[one].died_again
                else None,
            }
            for one in started
        ],
        "refused": _as_rows(refused),
    }


def _report_replays(
    started: Sequence[str], refused: dict[str, str], ended: dict[str, DeadLetter], *, waited: bool
) -> None:
    for one in started:
        letter = ended.get(one)
        match _outcome(letter, waited=waited):
            case "replaying":
                note(f"{one} sent again")
            case "waiting":
                note(f"{one} sent again, no outcome yet: look later with `brandctl dead-letters show {one}`")
            case "dead_again" if letter is not None:
                note(f"{one} died again, now as {letter.replaced_by}")
            case outcome:
                note(f"{one} {outcome}")
    for message in refused.values():
        note(message)


def _as_rows(refused: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": one, "detail": message} for one, message in refused.items()]


@contextmanager
def _monitor(monitor_url: str | None, key_file: Path | None) -> Iterator[Monitor]:
    try:
        access = find_access(monitor_url, key_file)
    except AccessError as error:
        note(str(error))
        raise typer.Exit(_USAGE) from error
    try:
        with Monitor(access) as monitor:
            yield monitor
    except MonitorError as error:
        note(str(error))
        raise typer.Exit(1) from error
