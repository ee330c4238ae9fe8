"""`/search`: finds pages, brands, keywords, drafts and articles by their words, and what has an id. Ctrl-K shows the same in a dialog."""

from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.ids import parse_id
from console.list_filters import ListFilter
from console.pages import PageViewer, Viewer, page
from console.pages.parts import parts_of
from console.search.ids import find_by_id
from console.search.results import FoundPage

MOST: Final = 8
"""Results of one kind."""
_FURTHER: Final = (
    ("start_here.title", "/start-here", Scope.ADMIN),
    ("keywords.add", "/b/{brand}/keywords/add", Scope.SUBMIT),
    ("me.title", "/me", Scope.READ),
)
"""Pages that no navigation has: key of the title, path, and the right to open it."""
router = APIRouter(include_in_schema=False)


@router.get("/search")
async def search(request: Request, viewer: Viewer) -> Response:
    """Results by kind; with `brand`, only that brand's pages, keywords, drafts and articles."""
    text = ListFilter.of(request.query_params, ()).text
    brand = request.query_params.get("brand") or None
    if brand is not None and not viewer.may_see(brand):
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("layout.error.brand", brand=brand))
    parts: dict[str, Any] = {}
    with_id: list[FoundPage] = []
    away: list[Any] = []
    if (wanted := parse_id(text)) is not None:
        with_id, away = await find_by_id(viewer, wanted, brand)
    elif text:
        orchestrator = viewer.orchestrator
        parts = await viewer.gather(
            keywords=orchestrator.search_for_keywords(brand=brand, q=text, limit=MOST),
            drafts=orchestrator.list_drafts(brand=brand, q=text, limit=MOST),
            articles=orchestrator.search_for_articles(brand=brand, q=text, limit=MOST),
        )
    kinds = {"ids": with_id} if with_id else {}
    if text and wanted is None:
        kinds = _kinds(request, viewer, text, brand, parts)
    return page(
        request,
        viewer,
        "search/search.html.j2",
        searched=text,
        within=brand,
        within_name=viewer.brands.by_slug.get(brand or "", brand),
        kinds=kinds,
        found=sum(map(len, kinds.values())),
        away_part=next((each for each in (*parts.values(), *away) if not each), None),
    )


def _kinds(
    request: Request, viewer: PageViewer, text: str, brand: str | None, parts: dict[str, Any]
) -> dict[str, list[FoundPage]]:
    names, wanted = viewer.brands.by_slug, text.casefold()
    brands = (each for each in viewer.brands if wanted in each.slug or wanted in each.name.casefold())
    found = {
        "pages": list(islice(_pages(request, viewer, wanted, brand), MOST)),
        "brands": [FoundPage(each.name, f"/b/{each.slug}") for each in islice(brands, MOST)],
    }
    for kind, part in parts.items():
        found[kind] = [
            FoundPage(
                each["keyword"] if kind == "keywords" else each["title"],
                f"/b/{each['brand_slug']}/{kind}/{_id_of(each)}",
                names.get(each["brand_slug"], each["brand_slug"]),
            )
            for each in (part["items"] if part else [])
        ]
    return {kind: results[:MOST] for kind, results in found.items() if results}


def _id_of(item: Any) -> str:
    """A keyword has the address of its place in a cycle, anything else that of its content."""
    return (
        f"{item['cycle_id']}.{item['position']}"
        if "keyword" in item and "position" in item
        else item["content_id"]
    )


def _pages(request: Request, viewer: PageViewer, wanted: str, brand: str | None) -> Iterator[FoundPage]:
    """The pages with such a title that the person may open; without a brand, those of every brand."""
    entries = [(f"{each.screen}.nav", each.path, each.scope) for each in parts_of(request).navigation]
    brands = viewer.brands if brand is None else [each for each in viewer.brands if each.slug == brand]
    for key, path, scope in (*entries, *_FURTHER):
        title = viewer.t(key)
        if not viewer.may(scope) or wanted not in title.casefold():
            continue
        if "{brand}" not in path:
            yield FoundPage(title, path)
            continue
        for each in brands:
            yield FoundPage(title, path.replace("{brand}", each.slug), each.name)
