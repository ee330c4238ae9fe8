"""`/b/{brand}/drafts.csv?state=…`: the list with its filters as a file, likewise keywords, articles and posts."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.articles.views import STATES as ARTICLE_STATES
from console.drafts.views import DraftQuery
from console.keywords.views import STATES as KEYWORD_STATES
from console.list_files.answers import file_answer
from console.list_files.writing import PAGE_ROWS, Format, ListPages
from console.list_filters import ListFilter
from console.pages import PageViewer, Viewer
from console.posts.views import STATES as POST_STATES

KEYWORD_COLUMNS: Final = (
    "keyword",
    "state",
    "reason",
    "waits",
    "priority",
    "accepted_at",
    "moved_at",
    "submitted_by",
    "content_id",
    "published_url",
)
DRAFT_COLUMNS: Final = (
    "title",
    "keyword",
    "state",
    "word_count",
    "version",
    "made_by",
    "held_for",
    "since",
    "content_id",
    "published_url",
)
ARTICLE_COLUMNS: Final = (
    "title",
    "keyword",
    "state",
    "word_count",
    "created_at",
    "content_id",
    "published_url",
)
POST_COLUMNS: Final = (
    "title",
    "channel",
    "account",
    "state",
    "text",
    "reason",
    "detail",
    "at",
    "due_at",
    "posted_at",
    "post_id",
    "post_url",
)
router = APIRouter(include_in_schema=False)


async def _file(
    request: Request,
    viewer: PageViewer,
    name: str,
    ending: Format,
    columns: tuple[str, ...],
    call: Callable[..., Any],
    filters: Mapping[str, Any],
) -> Response:
    """Streams a list. Its first page is read before the answer begins, so that an error is a page that says so."""

    async def read(after: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await call(**{**filters, "after": after, "limit": PAGE_ROWS})
        return found

    pages = ListPages(await read(None), read)
    return file_answer(viewer.t, pages, columns, f"{request.path_params['brand']}-{name}", ending)


def _filters(request: Request, states: tuple[str, ...]) -> dict[str, Any]:
    return ListFilter.of(request.query_params, states).arguments(datetime.now(UTC))


@router.get("/b/{brand}/keywords.{ending}")
async def keywords_file(request: Request, brand: str, ending: Format, viewer: Viewer) -> Response:
    filters = _filters(request, KEYWORD_STATES) | {"brand": brand}
    call = viewer.orchestrator.search_for_keywords
    return await _file(request, viewer, "keywords", ending, KEYWORD_COLUMNS, call, filters)


@router.get("/b/{brand}/drafts.{ending}")
async def drafts_file(request: Request, brand: str, ending: Format, viewer: Viewer) -> Response:
    filters = DraftQuery.of(request.query_params).filters(datetime.now(UTC)) | {"brand": brand}
    call = viewer.orchestrator.list_drafts
    return await _file(request, viewer, "drafts", ending, DRAFT_COLUMNS, call, filters)


@router.get("/b/{brand}/articles.{ending}")
async def articles_file(request: Request, brand: str, ending: Format, viewer: Viewer) -> Response:
    filters = _filters(request, ARTICLE_STATES) | {"brand": brand}
    call = viewer.orchestrator.search_for_articles
    return await _file(request, viewer, "articles", ending, ARTICLE_COLUMNS, call, filters)


@router.get("/b/{brand}/posts.{ending}")
async def posts_file(request: Request, brand: str, ending: Format, viewer: Viewer) -> Response:
    filters = _filters(request, POST_STATES) | {"slug": brand}
    call = viewer.social.list_brand_posts
    return await _file(request, viewer, "posts", ending, POST_COLUMNS, call, filters)
