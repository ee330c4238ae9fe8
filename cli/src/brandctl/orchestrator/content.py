"""`brandctl content`: articles, their quality measures and their publications."""

from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.listing import AfterId, Limit, Listing, OfBrand
from brandctl.orchestrator.articles import ArticlesClient
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl, QualityScore
from brandctl.short_ids import parse_id
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="content",
    no_args_is_help=True,
    help=f"""Lists the articles of all cycles, shows their quality measures, and publishes them again at their targets.

{OrchestratorClient.help()}

For example:

    brandctl content list --brand acme --search brew
    brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog
""",
)


ContentId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id` of a keyword in its cycle.")
]
_ARTICLES: Final = Listing[dict[str, Any]](
    {
        "id": lambda each: str(each["content_id"]),
        "brand": lambda each: str(each["brand_slug"]),
        "state": lambda each: str(each["state"]),
        "written": lambda each: str(each["created_at"])[:10],
        "title": lambda each: str(each["title"]),
        "address": lambda each: str(each["published_url"] or ""),
    },
    nothing="no article matches; check the brand and the words, or find keywords without an article with brandctl keywords list --search",
    colours={"published": "green", "waiting": "yellow", "rejected": "red", "taken_down": "red"},
)


@app.callback()
def content() -> None:
    """Keeps every command a sub-command, however many there are."""


@app.command(name="list")
def list_articles(
    brand: OfBrand = None,
    search: Annotated[
        str | None,
        typer.Option(
            help="Only articles with all of these words, or beginnings of words, in title or keyword.",
            show_default="all",
        ),
    ] = None,
    after: AfterId = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists articles of all cycles, latest first, including waiting drafts and pages that were taken down.

    For example:

        brandctl content list --brand acme --search "cold brew"
    """
    with ArticlesClient.at(orchestrator_url, key_file) as articles:
        answer = articles.page(
            brand=brand, q=search, after=None if after is None else str(after), limit=limit
        )
    _ARTICLES.show(answer["items"], answer, as_json=as_json, more=answer["next"])


@app.command()
def score(
    content_id: ContentId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the quality measures of an article with their bounds, and why the article waits, if it does.

    For example:

        brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.measures[] | select(.holds | not)'
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
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
    """Shows the publications of an article: at its home and at each further target.

    For example:

        brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.items[] | select(.state == "failed")'
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        _show_places(orchestrator.placements(content_id), as_json=as_json)


@app.command()
def publish(
    content_id: ContentId,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A target of its brand.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite changes that were made at the target.")
    ] = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Publishes an article again at one target: one that failed, or one that the brand added later.

    Other targets stay as they are, and so does an up-to-date publication. An article that was taken down is removed at the target.

    For example:

        brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog --overwrite
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
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


def _state(found: QualityScore) -> str:
    if found.held_for:
        return f"needs a review: {'; '.join(found.held_for)}"
    if not found.measures:
        return "written before articles were measured"
    return f"published at {found.published_url}" if found.published_url else "on its way to its page"
