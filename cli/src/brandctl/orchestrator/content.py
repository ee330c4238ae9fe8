"""`brandctl content`: what was measured of an article, and why a draft waits."""

from typing import Annotated
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.orchestrator.client import Orchestrator, OrchestratorUrl, Score
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="content",
    no_args_is_help=True,
    help=f"""The articles, and how good they are as far as that can be counted.

{Orchestrator.help()}

For example:

    brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
""",
)


@app.callback()
def content() -> None:
    """Keeps every command a sub-command, however many there are."""


@app.command()
def score(
    content_id: Annotated[UUID, typer.Argument(metavar="ID", help="`content_id` of a keyword in its cycle.")],
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows each measure of an article, its bound, and whether it holds; and why the article waits, if it does.

    For example:

        brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.measures[] | select(.holds | not)'
    """
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.score(content_id)
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
