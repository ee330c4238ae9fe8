"""`brandctl dead-letters`: look at messages that died, replay them, or discard them."""

from enum import StrEnum
from typing import Annotated

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.dead_letters import view
from brandctl.dead_letters.arguments import Group, Queue, TypeName
from brandctl.dead_letters.deciding import discard, replay
from brandctl.dead_letters.monitor import MonitorClient, MonitorUrl
from brandctl.errors import CommandError
from brandctl.short_ids import parse_reference
from brandctl.terminal import note, out, print_json

app = typer.Typer(
    name="dead-letters",
    no_args_is_help=True,
    help=f"""Lists, shows, replays and discards messages that could not be handled.

{MonitorClient.help()}

For example:

    brandctl dead-letters list
    brandctl dead-letters list --summary
    brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
    brandctl dead-letters replay --group 5f0c3a9b1e77d204
    brandctl dead-letters discard --all --queue social-commands --reason "…"
    brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "…"
""",
)


class StateChoice(StrEnum):
    OPEN = "open"
    REPLAYING = "replaying"
    RESOLVED = "resolved"
    DISCARDED = "discarded"
    ALL = "all"


Identity = Annotated[str, typer.Argument(metavar="ID", parser=parse_reference, help="An id from `list`.")]


@app.command("list")
def list_letters(
    state: Annotated[StateChoice, typer.Option(help="Only those in this state.")] = StateChoice.OPEN,
    queue: Queue = None,
    type_name: TypeName = None,
    group: Group = None,
    correlation_id: Annotated[str | None, typer.Option(help="Only those of this chain of messages.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many.")] = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those older than this one.")] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Group equal failures.")] = False,
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
    if summary and (type_name or group or correlation_id or before or wanted_state is None):
        raise typer.BadParameter(
            "--summary goes only with --queue and --state (one state)", param_hint="--summary"
        )
    with MonitorClient.at(monitor_url, key_file) as monitor:
        if summary:
            _list_groups(monitor, wanted_state, queue, as_json=as_json)
            return
        page = monitor.page(
            state=wanted_state,
            queue=queue,
            type=type_name,
            group=group,
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
        raise CommandError(f"No dead letters match ({page.open} open in all).")


@app.command()
def show(
    dead: Identity, as_json: AsJson = False, monitor_url: MonitorUrl = None, key_file: KeyFile = None
) -> None:
    """Shows one dead letter: why it died, where, its headers and its body.

    For example:

        brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    """
    with MonitorClient.at(monitor_url, key_file) as monitor:
        letter = monitor.full(dead)
    if as_json:
        print_json(letter)
    else:
        view.show_full(out(), letter)


app.command()(replay)
app.command()(discard)


def _list_groups(monitor: MonitorClient, state: str | None, queue: str | None, *, as_json: bool) -> None:
    groups = monitor.summary(state=state, queue=queue)
    if as_json:
        print_json({"groups": groups})
    elif groups:
        view.show_groups(out(), groups)
    if not groups:
        raise CommandError("No dead letters match.")
