"""`brandctl cycles`: progress of cycles and their keywords; pause, resume and cancel."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result, table
from brandctl.listing import Listing
from brandctl.options import AfterId, OfBrand
from brandctl.orchestrator.cycle_progress import told, what_to_look_at
from brandctl.short_ids import parse_id
from brandctl.times import to_minute
from client.pages import read_up_to
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "cycles",
    """Shows the progress of cycles and their keywords; pauses, resumes and cancels cycles.

For example:

    brandctl cycles list --brand acme --state running
    brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed
    brandctl cycles cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
    Orchestrator,
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
_CYCLES: Final = Listing(
    {
        "id": "cycle_id",
        "brand": "brand_slug",
        "state": "state",
        "%": "percent",
        "pending": "pending",
        "processing": "processing",
        "waiting": "waiting",
        "completed": "completed",
        "failed": "failed",
        "of": "total",
        "begun": lambda cycle: to_minute(cycle["created_at"]),
    },
    nothing="no such cycle; submit keywords with brandctl submit",
    colours=_COLOURS,
)

CycleId = Annotated[UUID, typer.Argument(metavar="CYCLE", parser=parse_id, help="Id of a cycle.")]


@app.command("list")
def list_cycles(
    orchestrator: Orchestrator,
    brand: OfBrand = None,
    state: str | None = None,
    after: AfterId = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
) -> Result:
    """Lists cycles, latest first.

    For example:

        brandctl cycles list --brand acme

    Options:
        state: running, paused, waiting, completed, failed or cancelled. [default: in any state]
        limit: At most so many.
    """
    found = read_up_to(limit, orchestrator.list_cycles, brand=brand, state=state, after=after)
    listed = _CYCLES.of(found, brand=brand)
    return replace(listed, remark=_what_waits(found["items"]))


@app.command()
def show(
    orchestrator: Orchestrator,
    cycle_id: CycleId,
    state: str | None = None,
    limit: Annotated[int, typer.Option(min=1)] = 200,
) -> Result:
    """Shows the progress of a cycle, and its keywords with their results.

    For example:

        brandctl cycles show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --state failed --json | jq -r '.keywords[].keyword'

    Options:
        state: Only keywords in this state, such as failed. [default: in any state]
        limit: The most keywords to show.
    """
    progress = orchestrator.get_cycle(cycle_id)
    keywords = read_up_to(limit, orchestrator.list_cycle_keywords, cycle_id, state=state)
    rows = [(each["keyword"], each["state"], _result(each)) for each in keywords["items"]]
    remarks = [_how_far(progress), *_what_waits([progress])]
    if keywords["next"] is not None:
        remarks.append(f"There are more keywords: --limit shows more than {limit}.")
    answer = {**progress, "keywords": keywords["items"], "next": keywords["next"]}
    return Result(
        answer, table(("keyword", "state", "result"), rows, _COLOURS) if rows else None, remark=remarks
    )


@app.command()
def pause(orchestrator: Orchestrator, cycle_id: CycleId) -> Result:
    """Pauses a cycle: work under way continues to its end, other keywords wait until it is resumed."""
    return _controlled(orchestrator.pause_cycle(cycle_id))


@app.command()
def resume(orchestrator: Orchestrator, cycle_id: CycleId) -> Result:
    """Resumes a paused cycle."""
    return _controlled(orchestrator.resume_cycle(cycle_id))


@app.command()
def cancel(orchestrator: Orchestrator, cycle_id: CycleId) -> Result:
    """Cancels the keywords that are not being written yet, for good. Others continue to their end."""
    return _controlled(orchestrator.cancel_cycle(cycle_id))


def _controlled(cycle: "answers.CycleSummary") -> Result:
    return Result(cycle, remark=_how_far(cycle))


def _how_far(cycle: "answers.CycleSummary") -> str:
    return f"{cycle['brand_slug']}, {cycle['state']}: {told(cycle)}; {cycle['not_sent']} not sent yet"


def _what_waits(cycles: Sequence["answers.CycleSummary"]) -> list[str]:
    """Returns why cycles wait, and the commands that show it."""
    held = {
        f"{each['brand_slug']}, held up: {held_up['reason']}"
        for each in cycles
        if (held_up := each.get("held_up")) and held_up["drafts"] is None
    }
    return [*dict.fromkeys(line for each in cycles for line in what_to_look_at(each)), *sorted(held)]


def _result(keyword: "answers.KeywordView") -> str:
    # If another keyword has the article, the reason says which, and where the article is.
    own = None if keyword["has_standing_article"] else keyword["published_url"]
    return own or keyword["reason"] or keyword["waits"] or ""
