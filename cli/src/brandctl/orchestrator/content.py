"""`brandctl content`: what was measured of an article, why a draft waits, and where the article is."""

from typing import Annotated, Any
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.orchestrator.client import Orchestrator, OrchestratorUrl, Score
from brandctl.short_ids import parse_id
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="content",
    no_args_is_help=True,
    help=f"""The articles: how good they are as far as that can be counted, and at which targets they are.

{Orchestrator.help()}

For example:

    brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog
""",
)


ContentId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id` of a keyword in its cycle.")
]


@app.callback()
def content() -> None:
    """Keeps every command a sub-command, however many there are."""


@app.command()
def score(
    content_id: ContentId,
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


@app.command()
def targets(
    content_id: ContentId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows where an article is: at its home, and what each further target of its brand answered.

    For example:

        brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.items[] | select(.state == "failed")'
    """
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _show_places(orchestrator.placements(content_id), as_json=as_json)


@app.command()
def publish(
    content_id: ContentId,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="One of its brand's.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also what somebody has changed at the target.")
    ] = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Has one target brought up to date with an article: one that failed, or that its brand has only since then.

    The others are left alone, and so is what is there as it should be. Of an article that was taken down, it is taken away there.

    For example:

        brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog --overwrite
    """
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _show_places(orchestrator.place(content_id, target, overwrite=overwrite), as_json=as_json)


def _show_places(places: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(places)
        return
    home = (places["home"], "published" if places["published_url"] else "", places["published_url"] or "", "")
    others = [
        (each["target"], each["state"], each["url"] or "", each["reason"] or "") for each in places["items"]
    ]
    show_table(("target", "state", "address", "reason"), [home, *others])


def _state(found: Score) -> str:
    if found.held_for:
        return f"needs a review: {'; '.join(found.held_for)}"
    if not found.measures:
        return "written before articles were measured"
    return f"published at {found.published_url}" if found.published_url else "on its way to its page"
