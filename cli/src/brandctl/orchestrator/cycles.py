"""`brandctl cycles`: the batches of keywords, what became of each, and holding them back."""

from typing import Annotated, Any
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.orchestrator.client import KeywordProgress, Orchestrator, OrchestratorUrl, Progress
from brandctl.orchestrator.watching import told
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="cycles",
    no_args_is_help=True,
    help=f"""Batches of keywords: how far they are, what became of each keyword; pause, resume and cancel them.

{Orchestrator.help()}

For example:

    brandctl cycles list --brand acme --state running
    brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed
    brandctl cycles cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
)

_COLOURS = {
    "completed": "green",
    "refused": "yellow",
    "needs_review": "yellow",
    "paused": "yellow",
    "failed": "red",
    "cancelled": "red",
}

CycleId = Annotated[UUID, typer.Argument(metavar="CYCLE", help="Id of a cycle.")]


@app.command(name="list")
def list_cycles(
    brand: Annotated[
        str | None, typer.Option(help="Those of this brand.", show_default="of all brands")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(help="running, paused, completed, failed or cancelled.", show_default="in any state"),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists cycles, the latest first.

    For example:

        brandctl cycles list --brand acme
    """
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.cycles(brand=brand, state=state, limit=limit)
    if as_json:
        print_json(answer)
        return
    if not found:
        note("no such cycle; hand in keywords with brandctl submit")
        return
    show_table(
        ("id", "brand", "state", "%", "pending", "processing", "completed", "failed", "of", "begun"),
        [_row(cycle) for cycle in found],
        colours=_COLOURS,
    )
    if answer.get("next"):
        note("There are more: --limit shows up to 1,000.")


@app.command()
def show(
    cycle_id: CycleId,
    state: Annotated[
        str | None, typer.Option(help="Keywords in this state, such as failed.", show_default="in any state")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many keywords.")] = 200,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows how far a cycle is, and its keywords with what became of each.

    For example:

        brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed --json | jq -r '.keywords[].keyword'
    """
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        progress, answer = orchestrator.progress(cycle_id)
        keywords, told_keywords, more = _keywords(orchestrator, cycle_id, state, limit)
    if as_json:
        print_json({**answer, "keywords": told_keywords, "next": more})
    elif keywords:
        show_table(
            ("keyword", "state", "result"),
            [(each.keyword, each.state, _result(each)) for each in keywords],
            colours=_COLOURS,
        )
    note(f"{progress.brand_slug}, {progress.state}: {told(progress)}; {progress.not_sent} not sent yet")
    if more is not None:
        note(f"There are more keywords: --limit shows more than {limit}.")


@app.command()
def pause(
    cycle_id: CycleId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sends none of its keywords to research or to the writers until it is resumed. What is under way goes on to its end."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _say(*orchestrator.control(cycle_id, "pause"), as_json=as_json)


@app.command()
def resume(
    cycle_id: CycleId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Has a paused cycle go on where it stood."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _say(*orchestrator.control(cycle_id, "resume"), as_json=as_json)


@app.command()
def cancel(
    cycle_id: CycleId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Ends for good what is not being written yet. What is being written, published or promoted goes on to its end."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _say(*orchestrator.control(cycle_id, "cancel"), as_json=as_json)


def _say(progress: Progress, answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    note(f"{progress.brand_slug}, {progress.state}: {told(progress)}; {progress.not_sent} not sent yet")


def _keywords(
    orchestrator: Orchestrator, cycle_id: UUID, state: str | None, limit: int
) -> tuple[list[KeywordProgress], list[Any], int | None]:
    """So many keywords, read and as they were answered, and where they go on."""
    found: list[KeywordProgress] = []
    answered: list[Any] = []
    after: int | None = 0
    while after is not None and len(found) < limit:
        page, answer = orchestrator.keywords(
            cycle_id, state=state, after=after, limit=min(limit - len(found), 1000)
        )
        found += page.items
        answered += answer["items"]
        after = page.next
    return found, answered, after


def _row(cycle: Progress) -> tuple[str, ...]:
    return (
        str(cycle.cycle_id),
        cycle.brand_slug,
        cycle.state,
        str(cycle.percent),
        str(cycle.pending),
        str(cycle.processing),
        str(cycle.completed),
        str(cycle.failed),
        str(cycle.total),
        f"{cycle.created_at:%Y-%m-%d %H:%M}",
    )


def _result(keyword: KeywordProgress) -> str:
    return keyword.published_url or keyword.reason or keyword.waits or ""
