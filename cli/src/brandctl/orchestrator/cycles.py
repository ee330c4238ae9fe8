"""`brandctl cycles`: progress of cycles and their keywords; pause, resume and cancel."""

from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.asking import MAX_PAGE, AsJson, KeyFile
from brandctl.listing import AfterId, Listing, OfBrand
from brandctl.orchestrator.client import CycleProgress, KeywordProgress, OrchestratorClient, OrchestratorUrl
from brandctl.orchestrator.watching import told, what_to_look_at
from brandctl.short_ids import parse_id
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="cycles",
    no_args_is_help=True,
    help=f"""Shows the progress of cycles and their keywords; pauses, resumes and cancels cycles.

{OrchestratorClient.help()}

For example:

    brandctl cycles list --brand acme --state running
    brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed
    brandctl cycles cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
)

_COLOURS: Final = {
    "completed": "green",
    "refused": "yellow",
    "needs_review": "yellow",
    "paused": "yellow",
    "waiting": "yellow",
    "failed": "red",
    "cancelled": "red",
}
_CYCLES: Final = Listing[CycleProgress](
    {
        "id": lambda cycle: str(cycle.cycle_id),
        "brand": lambda cycle: cycle.brand_slug,
        "state": lambda cycle: cycle.state,
        "%": lambda cycle: str(cycle.percent),
        "pending": lambda cycle: str(cycle.pending),
        "processing": lambda cycle: str(cycle.processing),
        "waiting": lambda cycle: str(cycle.waiting),
        "completed": lambda cycle: str(cycle.completed),
        "failed": lambda cycle: str(cycle.failed),
        "of": lambda cycle: str(cycle.total),
        "begun": lambda cycle: f"{cycle.created_at:%Y-%m-%d %H:%M}",
    },
    nothing="no such cycle; submit keywords with brandctl submit",
    colours=_COLOURS,
)

CycleId = Annotated[UUID, typer.Argument(metavar="CYCLE", parser=parse_id, help="Id of a cycle.")]


@app.command(name="list")
def list_cycles(
    brand: OfBrand = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="running, paused, waiting, completed, failed or cancelled.", show_default="in any state"
        ),
    ] = None,
    after: AfterId = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists cycles, latest first.

    For example:

        brandctl cycles list --brand acme
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.cycles(brand=brand, state=state, after=after, limit=limit)
    _CYCLES.show(found, answer, as_json=as_json, more=answer.get("next"))
    _note_what_waits(found)


@app.command()
def show(
    cycle_id: CycleId,
    state: Annotated[
        str | None,
        typer.Option(help="Only keywords in this state, such as failed.", show_default="in any state"),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most keywords to show.")] = 200,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the progress of a cycle, and its keywords with their results.

    For example:

        brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed --json | jq -r '.keywords[].keyword'
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
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
    note(_how_far(progress))
    _note_what_waits([progress])
    if more is not None:
        note(f"There are more keywords: --limit shows more than {limit}.")


def _controlling(action: str, what_it_does: str) -> None:
    """Adds a command that sends this action and prints the cycle's progress."""

    @app.command(name=action, help=what_it_does)
    def command(
        cycle_id: CycleId,
        as_json: AsJson = False,
        orchestrator_url: OrchestratorUrl = None,
        key_file: KeyFile = None,
    ) -> None:
        with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
            progress, answer = orchestrator.control(cycle_id, action)
        if as_json:
            print_json(answer)
        note(_how_far(progress))


_controlling(
    "pause",
    "Pauses a cycle: work under way continues to its end, other keywords wait until it is resumed.",
)
_controlling("resume", "Resumes a paused cycle.")
_controlling(
    "cancel",
    "Cancels the keywords that are not being written yet, for good. Others continue to their end.",
)


def _how_far(progress: CycleProgress) -> str:
    return f"{progress.brand_slug}, {progress.state}: {told(progress)}; {progress.not_sent} not sent yet"


def _note_what_waits(cycles: Sequence[CycleProgress]) -> None:
    """Prints why cycles wait, and the commands that show it."""
    held = {
        f"{each.brand_slug}, held up: {each.held_up.reason}"
        for each in cycles
        if each.held_up and each.held_up.drafts is None
    }
    for line in [*dict.fromkeys(line for each in cycles for line in what_to_look_at(each)), *sorted(held)]:
        note(line)


def _keywords(
    orchestrator: OrchestratorClient, cycle_id: UUID, state: str | None, limit: int
) -> tuple[list[KeywordProgress], list[Any], int | None]:
    """Returns up to `limit` keywords, their raw answers, and the cursor of the rest."""
    found: list[KeywordProgress] = []
    answered: list[Any] = []
    after: int | None = 0
    while after is not None and len(found) < limit:
        page, answer = orchestrator.keywords(
            cycle_id, state=state, after=after, limit=min(limit - len(found), MAX_PAGE)
        )
        found += page.items
        answered += answer["items"]
        after = page.next
    return found, answered, after


def _result(keyword: KeywordProgress) -> str:
    # If another keyword has the article, the reason says which, and where the article is.
    own = None if keyword.has_standing_article else keyword.published_url
    return own or keyword.reason or keyword.waits or ""
