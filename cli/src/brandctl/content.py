"""`brandctl content`: what was measured of an article, and why a draft waits."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from brandctl.access import AccessError, find_access
from brandctl.gateway.tables import show_table
from brandctl.service_client import ServiceClient, ServiceError
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="content",
    no_args_is_help=True,
    help="""The articles, and how good they are as far as that can be counted.

Each command asks the orchestrator. It finds it through --orchestrator-url or ORCHESTRATOR_URL, and the key through
SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` tells both.

Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage.

For example:

    brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
)

_USAGE = 2


class OrchestratorError(ServiceError):
    """The orchestrator cannot be reached or refused; the message is for people."""


class Measure(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    shown: str
    least: float | None
    most: float | None
    holds: bool
    problem: str | None

    @property
    def bound(self) -> str:
        bounds = (("at least", self.least), ("at most", self.most))
        return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


class Score(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str
    keyword: str
    published_url: str | None
    held_for: tuple[str, ...]
    measures: tuple[Measure, ...]


class Orchestrator(ServiceClient):
    """A client; use it as a context manager. Every method may raise `OrchestratorError`."""

    service = "the orchestrator"
    error = OrchestratorError

    def score(self, content_id: UUID) -> tuple[Score, object]:
        """Also as it was answered."""
        answer = self._ask("GET", f"/v1/content/{content_id}/score")
        try:
            return Score.model_validate(answer), answer
        except ValidationError as error:
            raise self._stranger() from error


@app.callback()
def content() -> None:
    """Keeps every command a sub-command, however many there are."""


@app.command()
def score(
    content_id: Annotated[UUID, typer.Argument(metavar="ID", help="`content_id` of a keyword in its cycle.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")] = False,
    orchestrator_url: Annotated[
        str | None,
        typer.Option("--orchestrator-url", envvar="ORCHESTRATOR_URL", help="Address of the orchestrator."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
    ] = None,
) -> None:
    """Shows each measure of an article, its bound, and whether it holds; and why the article waits, if it does.

    For example:

        brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.measures[] | select(.holds | not)'
    """
    try:
        access = find_access(orchestrator_url, key_file, service="orchestrator")
    except AccessError as error:
        note(str(error))
        raise typer.Exit(_USAGE) from error
    try:
        with Orchestrator(access) as orchestrator:
            found, answer = orchestrator.score(content_id)
    except OrchestratorError as error:
        note(str(error))
        raise typer.Exit(1) from error
    if as_json:
        print_json(answer)
    elif found.measures:
        show_table(
            ("measure", "value", "bound", "holds"),
            [(each.name, each.shown, each.bound, "yes" if each.holds else "no") for each in found.measures],
        )
    note(f"“{found.title}” ({found.keyword}): {_state(found)}")


def _state(found: Score) -> str:
    if found.held_for:
        return f"needs a review: {'; '.join(found.held_for)}"
    if not found.measures:
        return "written before articles were measured"
    return f"published at {found.published_url}" if found.published_url else "on its way to its page"
