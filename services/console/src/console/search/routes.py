"""`/search`: finds pages, brands, keywords, drafts and articles by their words; Ctrl-K and `/` lead to it."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.list_filters import ListFilter
from console.pages import PageViewer, Viewer, page
from console.pages.parts import parts_of

MOST: Final = 8
"""Results of one kind."""
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A result."""

    title: str
    path: str
    brand: str = ""


@router.get("/search")
async def search(request: Request, viewer: Viewer) -> Response:
    """Results by kind; with `brand`, only that brand's pages, keywords, drafts and articles."""
    text = ListFilter.of(request.query_params, ()).text
    brand = request.query_params.get("brand") or None
    if brand is not None and not viewer.may_see(brand):
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("layout.error.brand", brand=brand))
    parts: dict[str, Any] = {}
    if text:
        orchestrator = viewer.orchestrator
        parts = await viewer.gather(
            keywords=orchestrator.search_for_keywords(brand=brand, q=text, limit=MOST),
            drafts=orchestrator.list_drafts(brand=brand, q=text, limit=MOST),
            articles=orchestrator.search_for_articles(brand=brand, q=text, limit=MOST),
        )
    return page(
        request,
        viewer,
        "search/search.html.j2",
        searched=text,
        within=brand,
        kinds=_kinds(request, viewer, text, brand, parts) if text else {},
        away_parts=[each for each in parts.values() if not each],
    )


def _kinds(
    request: Request, viewer: PageViewer, text: str, brand: str | None, parts: dict[str, Any]
) -> dict[str, list[Found]]:
    wanted = text.casefold()
    pages = [
        Found(viewer.t(f"{each.screen}.nav"), each.path.replace("{brand}", brand or ""))
        for each in parts_of(request).navigation
        if viewer.may(each.scope) and (brand is not None or "{brand}" not in each.path)
    ]
    brands = [Found(each.name, f"/b/{each.slug}") for each in viewer.brands if wanted in each.slug]
    brands += [
        Found(each.name, f"/b/{each.slug}")
        for each in viewer.brands
        if wanted in each.name.casefold() and wanted not in each.slug
    ]
    items = {name: part["items"] if part else [] for name, part in parts.items()}
    found = {
        "pages": [each for each in pages if wanted in each.title.casefold()][:MOST],
        "brands": brands[:MOST],
        "keywords": [
            Found(
                each["keyword"],
                f"/b/{each['brand_slug']}/keywords/{each['cycle_id']}.{each['position']}",
                each["brand_slug"],
            )
            for each in items["keywords"]
        ],
    }
    for kind in ("drafts", "articles"):
        found[kind] = [
            Found(each["title"], f"/b/{each['brand_slug']}/{kind}/{each['content_id']}", each["brand_slug"])
            for each in items[kind]
        ]
    return {kind: results for kind, results in found.items() if results}
