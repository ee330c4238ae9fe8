"""`brandctl dead-letters`: look at messages that died, replay, discard or restore them."""

from functools import partial
from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result
from brandctl.dead_letters import view
from brandctl.dead_letters.code_changes import PresentCode, code_since, count_code
from brandctl.dead_letters.deciding import discard, replay, restore
from brandctl.dead_letters.editing import edit
from brandctl.dead_letters.filters import DeadLetterSelection, with_filters
from brandctl.dead_letters.operations import operations, stop
from brandctl.short_ids import parse_reference
from brandctl.terminal import out
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

app = Group(
    "dead-letters",
    """Lists, shows, replays, edits, discards and restores messages that could not be handled.

For example:

    brandctl dead-letters list
    brandctl dead-letters list --summary
    brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
    brandctl dead-letters replay --group 5f0c3a9b1e77d204
    brandctl dead-letters edit 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --set target=site
    brandctl dead-letters discard --all --queue social-commands --reason "…"
    brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "…"
    brandctl dead-letters restore 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "…"
""",
    Monitor,
)

_SHOWN: Final = ("items", "next", "matching", "open")
"""Fields of a list that `--json` prints."""


@app.command("list")
@with_filters
def list_letters(
    monitor: Monitor,
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    events: Events,
    state: Literal["open", "replaying", "resolved", "discarded", "all"] = "open",
    *,
    wanted: DeadLetterSelection,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    before: Annotated[str | None, typer.Option(metavar="ID")] = None,
    summary: bool = False,
) -> Result:
    """Lists dead letters, newest first; exit code 1 if there are none.

    For example:

        brandctl dead-letters list --queue research-commands
        brandctl dead-letters list --state all --correlation-id 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
        brandctl dead-letters list --error "timed out" --failed-since 2026-11-28T14:00
        brandctl dead-letters list --json | jq -r '.items[].id'

    Options:
        state: Only those in this state.
        limit: At most so many.
        before: Only those older than this one.
        summary: Group equal failures, and say how many ran code that has changed since.
    """
    wanted_state = None if state == "all" else state
    if summary:
        if wanted.arguments.keys() - {"queue"} or before or wanted_state is None:
            raise typer.BadParameter(
                "--summary goes only with --queue and --state (one state)", param_hint="--summary"
            )
        groups: list[Any] = monitor.summarize_dead_letters(state=wanted_state, queue=wanted.queue)["groups"]
        if not groups:
            return Result({"groups": groups}, error="No dead letters match.")
        present = PresentCode((orchestrator, research, publisher, social, monitor, events))
        groups = [
            {**each, "code_since": count_code(each.get("codes", ()), each["count"], present)}
            for each in groups
        ]
        return Result({"groups": groups}, partial(view.show_groups, out(), groups))
    page = monitor.list_dead_letters(state=wanted_state, **wanted.arguments, limit=limit, before=before)
    items: list[Any] = page["items"]
    answer = {name: value for name, value in page.items() if name in _SHOWN}
    if not items:
        return Result(answer, error=f"No dead letters match ({page['open']} open in all).")
    more = f"{len(items)} of {page['matching']}. Older ones: add --before {page['next']}"
    return Result(answer, partial(view.show_list, out(), items), remark=() if page["next"] is None else more)


@app.command()
def show(
    monitor: Monitor,
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    events: Events,
    dead: Annotated[str, typer.Argument(metavar="ID", parser=parse_reference)],
    raw: bool = False,
) -> Result:
    """Shows one dead letter: why it died, where, whether that code has changed since, its headers and its body.

    For example:

        brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10

    Options:
        dead: An id from `list`.
        raw: With what is hidden otherwise; needs the scope `repair`, and is noted in the audit log.
    """
    read = monitor.reveal_dead_letter if raw else monitor.get_dead_letter
    letter: dict[str, Any] = {**read(dead)}
    present = PresentCode((orchestrator, research, publisher, social, monitor, events))
    letter["code_since"] = code_since(letter, present)
    return Result(letter, lambda: view.show_full(out(), letter))


for each in (replay, edit, discard, restore, operations, stop):
    app.command()(each)
