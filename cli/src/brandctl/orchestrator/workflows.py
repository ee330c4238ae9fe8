"""`brandctl workflows`: the writing of each article; retry and cancel."""

from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient
from brandctl.listing import AfterId, Limit, Listing, OfBrand
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.short_ids import parse_id
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="workflows",
    no_args_is_help=True,
    help=f"""Shows the writing of each article, step by step; retries or cancels it.

{OrchestratorClient.help()}

For example:

    brandctl workflows list --state stuck
    brandctl workflows show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl workflows retry 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl workflows cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
)

_COLOURS: Final = {
    "waiting": "yellow",
    "stuck": "red",
    "failed": "red",
    "done": "green",
    "cancelled": "dim",
    "pending": "dim",
}

ContentId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id`, as in `list` and cycles.")
]


class WorkflowStateChoice(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    STUCK = "stuck"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WorkflowsClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | UUID | None) -> dict[str, Any]:
        return self._ask("GET", "/v1/workflows", params=query)

    def workflow(self, content_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/workflows/{content_id}")

    def retry(self, content_id: UUID, *, anew: bool) -> dict[str, Any]:
        return self._ask("POST", f"/v1/workflows/{content_id}/retry", json={"anew": anew})

    def cancel(self, content_id: UUID) -> dict[str, Any]:
        return self._ask("POST", f"/v1/workflows/{content_id}/cancel")


def _moment(stamp: str | None) -> str:
    """Formats a time to the second, in UTC."""
    return "" if stamp is None else stamp.replace("T", " ")[:19]


_WORKFLOWS: Final = Listing[dict[str, Any]](
    {
        "id": lambda workflow: workflow["content_id"],
        "brand": lambda workflow: workflow["brand_slug"],
        "keyword": lambda workflow: workflow["keyword"],
        "state": lambda workflow: workflow["state"],
        "attempt": lambda workflow: str(workflow["attempt"]),
        "last sign": lambda workflow: _moment(workflow["last_sign_at"]),
        "why": lambda workflow: workflow["waits"] or workflow["problem"] or "",
    },
    nothing="there are none",
    colours=_COLOURS,
)


@app.command(name="list")
def list_workflows(
    brand: OfBrand = None,
    state: Annotated[
        WorkflowStateChoice | None, typer.Option(help="Only this state.", show_default="all")
    ] = None,
    after: AfterId = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the workflows of articles, oldest first.

    For example:

        brandctl workflows list --state stuck --json | jq -r '.items[].content_id'
    """
    with WorkflowsClient.at(orchestrator_url, key_file) as workflows:
        answer = workflows.page(brand=brand, state=state, after=after, limit=limit)
    nothing = f"none is {state}" if state else ""
    _WORKFLOWS.show(answer["items"], answer, as_json=as_json, more=answer["next"], nothing=nothing)


@app.command()
def show(
    content_id: ContentId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the steps of an article's workflow, their costs, and where to read their results.

    For example:

        brandctl workflows show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.steps[] | select(.tokens)'
    """
    with WorkflowsClient.at(orchestrator_url, key_file) as workflows:
        found = workflows.workflow(content_id)
    if as_json:
        print_json(found)
        return
    show_table(
        ("step", "state", "begun", "finished", "tokens read", "written", "bytes"),
        [
            (
                each["name"],
                each["state"].replace("_", " "),
                _moment(each["begun_at"]),
                _moment(each["finished_at"]),
                str(each["tokens"]["read"]) if each["tokens"] else "",
                str(each["tokens"]["written"]) if each["tokens"] else "",
                str(each["result"]["bytes"]) if each["result"] else "",
            )
            for each in found["steps"]
        ],
        colours=_COLOURS,
    )
    note(_told(found))


@app.command()
def retry(
    content_id: ContentId,
    anew: Annotated[
        bool, typer.Option("--anew", help="Start from the beginning: the model is paid again.")
    ] = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Retries a failed or stuck article after its last stored step. A workflow under way is left alone.

    For example:

        brandctl workflows list --state stuck --json | jq -r '.items[].content_id' | xargs -n 1 brandctl workflows retry
    """
    with WorkflowsClient.at(orchestrator_url, key_file) as workflows:
        _done(workflows.retry(content_id, anew=anew), "it is under way already", as_json=as_json)


@app.command()
def cancel(
    content_id: ContentId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Cancels an article that is not written yet, for good; its keyword ends as cancelled.

    For example:

        brandctl workflows cancel 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with WorkflowsClient.at(orchestrator_url, key_file) as workflows:
        _done(workflows.cancel(content_id), "it was cancelled already", as_json=as_json)


def _done(answer: dict[str, Any], otherwise: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    if not answer["changed"]:
        note(f"nothing was changed: {otherwise}")
    note(_told(answer["workflow"]))


def _told(found: dict[str, Any]) -> str:
    said = [f"“{found['keyword']}” of {found['brand_slug']}: {found['state']}"]
    if found["waits"]:
        until = f", until {_moment(found['waits_until'])}" if found["waits_until"] else ""
        said.append(f"{found['waits']}{until}")
    if found["problem"]:
        said.append(found["problem"])
    if found["cancelled_by"]:
        said.append(f"by {found['cancelled_by']} at {_moment(found['cancelled_at'])}")
    if found["retries"]:
        times = "once" if found["retries"] == 1 else f"{found['retries']} times"
        said.append(f"retried {times}, the last time by {found['retried_by']}")
    said.append(
        f"attempt {found['attempt']}, begun {found['starts']} times" if found["starts"] else "not begun"
    )
    if found["state"] in {"running", "stuck", "waiting"}:
        said.append(f"last sign {_moment(found['last_sign_at'])}")
    return "; ".join(said)
