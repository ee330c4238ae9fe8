"""`brandctl content`: articles, their quality measures and their publications."""

from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result, table
from brandctl.listing import Listing
from brandctl.options import AfterId, Limit, OfBrand
from brandctl.short_ids import parse_id
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "content",
    """Lists the articles of all cycles, shows their quality measures, and publishes them again at their targets.

For example:

    brandctl content list --brand acme --search brew
    brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog
""",
    Orchestrator,
)

ArticleId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id` of a keyword in its cycle.")
]
_ARTICLES: Final = Listing(
    {
        "id": "content_id",
        "brand": "brand_slug",
        "state": "state",
        "written": lambda each: each["created_at"][:10],
        "title": "title",
        "address": "published_url",
    },
    nothing="no article matches; check the brand and the words, or find keywords without an article with brandctl keywords list --search",
    colours={"published": "green", "waiting": "yellow", "rejected": "red", "taken_down": "red"},
)


@app.command("list")
def list_articles(
    orchestrator: Orchestrator,
    brand: OfBrand = None,
    search: str | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists articles of all cycles, latest first, including waiting drafts and pages that were taken down.

    For example:

        brandctl content list --brand acme --search "cold brew"

    Options:
        search: Only articles with all of these words, or beginnings of words, in title or keyword. [default: all]
    """
    return _ARTICLES.of(
        orchestrator.search_for_articles(brand=brand, q=search, after=after, limit=limit), brand=brand
    )


@app.command()
def score(orchestrator: Orchestrator, content_id: ArticleId) -> Result:
    """Shows the quality measures of an article with their bounds, and why the article waits, if it does.

    For example:

        brandctl content score 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.measures[] | select(.holds | not)'
    """
    found = orchestrator.get_article_score(content_id)
    rows = [
        (each["name"], each["shown"], _bound(each), "yes" if each["holds"] else "no")
        for each in found["measures"]
    ]
    about = f"“{found['title']}” ({found['keyword']}): {_state(found)}"
    return Result(found, table(("measure", "value", "bound", "holds"), rows) if rows else None, remark=about)


@app.command()
def evidence(orchestrator: Orchestrator, content_id: ArticleId) -> Result:
    """Shows what each sentence of an article rests on, and which sentences its model wrote that are not in it, and why.

    For example:

        brandctl content evidence 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.cuts[] | {text, problem, nearest}'
    """
    found = orchestrator.get_article_evidence(content_id)
    rows = [
        (each["verdict"], each["text"], ", ".join(f"[{n}]" for n in each["sources"]))
        for each in found["sentences"]
    ]
    rows += [("cut", each["text"], each["problem"]) for each in found["cuts"]]
    about = f"version {found['version']}: {len(found['sentences'])} sentences, {len(found['cuts'])} cut"
    return Result(found, table(("verdict", "text", "sources, or why"), rows, {"cut": "yellow"}), remark=about)


@app.command()
def targets(orchestrator: Orchestrator, content_id: ArticleId) -> Result:
    """Shows the publications of an article: at its home and at each further target.

    For example:

        brandctl content targets 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --json | jq '.items[] | select(.state == "failed")'
    """
    return _places(orchestrator.list_placements(content_id))


@app.command()
def publish(
    orchestrator: Orchestrator, content_id: ArticleId, target: str, overwrite: bool = False
) -> Result:
    """Publishes an article again at one target: one that failed, or one that the brand added later.

    Other targets stay as they are, and so does an up-to-date publication. An article that was taken down is removed at the target.

    For example:

        brandctl content publish 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f company-blog --overwrite

    Options:
        target: A target of its brand.
        overwrite: Overwrite changes that were made at the target.
    """
    return _places(orchestrator.request_placement(content_id, target, overwrite=overwrite))


def _places(places: "answers.PlacementList") -> Result:
    url = places["published_url"]
    home = (places["home"], "published" if url else "", url or "", "")
    others = [
        (each["target"], each["state"], each["url"] or "", each["reason"] or "") for each in places["items"]
    ]
    return Result(places, table(("target", "state", "address", "reason"), [home, *others]))


def _bound(measure: "answers.MeasureView") -> str:
    bounds = (("at least", measure["least"]), ("at most", measure["most"]))
    return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def _state(found: "answers.ScoreView") -> str:
    if found["held_for"]:
        return f"needs a review: {'; '.join(found['held_for'])}"
    if not found["measures"]:
        return "written before articles were measured"
    return f"published at {found['published_url']}" if found["published_url"] else "on its way to its page"
