"""`brandctl workflows`: the writing of each article; retry and cancel."""

from typing import TYPE_CHECKING, Final

from brandctl.commands import Group, Result, table
from brandctl.listing import Listing
from brandctl.options import AfterId, ContentId, Limit, OfBrand
from brandctl.times import to_second
from client.services.orchestrator import Orchestrator, WorkflowState

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "workflows",
    """Shows the writing of each article, step by step; retries or cancels it.

For example:

    brandctl workflows list --state stuck
    brandctl workflows show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl workflows retry 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl workflows cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
    Orchestrator,
)

_COLOURS: Final = {
    "waiting": "yellow",
    "stuck": "red",
    "failed": "red",
    "done": "green",
    "cancelled": "dim",
    "pending": "dim",
}
_WORKFLOWS: Final = Listing(
    {
        "id": "content_id",
        "brand": "brand_slug",
        "keyword": "keyword",
        "state": "state",
        "attempt": "attempt",
        "last sign": lambda workflow: to_second(workflow["last_sign_at"]),
        "why": lambda workflow: workflow["waits"] or workflow["problem"] or "",
    },
    nothing="there are none",
    colours=_COLOURS,
)


@app.command("list")
def list_workflows(
    orchestrator: Orchestrator,
    brand: OfBrand = None,
    state: WorkflowState | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists the workflows of articles, oldest first.

    For example:

        brandctl workflows list --state stuck --json | jq -r '.items[].content_id'

    Options:
        state: Only this state. [default: all]
    """
    found = orchestrator.list_workflows(brand=brand, state=state, after=after, limit=limit)
    return _WORKFLOWS.of(found, nothing=f"none is {state}" if state else "", brand=brand)


@app.command()
def show(orchestrator: Orchestrator, content_id: ContentId) -> Result:
    """Shows the steps of an article's workflow, their costs, and where to read their results.

    For example:

        brandctl workflows show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.steps[] | select(.tokens)'
    """
    found = orchestrator.get_workflow(content_id)
    headings = ("step", "state", "begun", "finished", "tokens read", "written", "bytes")
    return Result(found, table(headings, map(_row, found["steps"]), _COLOURS), note=_told(found))


def _row(step: "answers.StepView") -> tuple[str, ...]:
    tokens, result = step["tokens"], step["result"]
    return (
        step["name"],
        step["state"].replace("_", " "),
        to_second(step["begun_at"]),
        to_second(step["finished_at"]),
        str(tokens["read"]) if tokens else "",
        str(tokens["written"]) if tokens else "",
        str(result["bytes"]) if result else "",
    )


@app.command()
def retry(orchestrator: Orchestrator, content_id: ContentId, anew: bool = False) -> Result:
    """Retries a failed or stuck article after its last stored step. A workflow under way is left alone.

    For example:

        brandctl workflows list --state stuck --json | jq -r '.items[].content_id' | xargs -n 1 brandctl workflows retry

    Options:
        anew: Start from the beginning: the model is paid again.
    """
    return _changed(orchestrator.retry_workflow(content_id, anew=anew), "it is under way already")


@app.command()
def cancel(orchestrator: Orchestrator, content_id: ContentId) -> Result:
    """Cancels an article that is not written yet, for good; its keyword ends as cancelled.

    For example:

        brandctl workflows cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    return _changed(orchestrator.cancel_workflow(content_id), "it was cancelled already")


def _changed(answer: "answers.ControlledView", otherwise: str) -> Result:
    unchanged = [] if answer["changed"] else [f"nothing was changed: {otherwise}"]
    return Result(answer, note=[*unchanged, _told(answer["workflow"])])


def _told(found: "answers.WorkflowView | answers.WorkflowNoteView") -> str:
    said = [f"“{found['keyword']}” of {found['brand_slug']}: {found['state']}"]
    if found["waits"]:
        until = f", until {to_second(found['waits_until'])}" if found["waits_until"] else ""
        said.append(f"{found['waits']}{until}")
    if found["problem"]:
        said.append(found["problem"])
    if found["cancelled_by"]:
        said.append(f"by {found['cancelled_by']} at {to_second(found['cancelled_at'])}")
    if found["retries"]:
        times = "once" if found["retries"] == 1 else f"{found['retries']} times"
        said.append(f"retried {times}, the last time by {found['retried_by']}")
    said.append(
        f"attempt {found['attempt']}, begun {found['starts']} times" if found["starts"] else "not begun"
    )
    if found["state"] in {"running", "stuck", "waiting"}:
        said.append(f"last sign {to_second(found['last_sign_at'])}")
    return "; ".join(said)
