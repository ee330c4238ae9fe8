"""HTTP API of articles: by id, and search by words of title and keyword."""

import json
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query, Response

from chassis.database.pool import kept_plans
from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayRead,
    Moment,
    add_routes,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import Caller
from chassis.http.conditional import entity_tag
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.article_workflow.article_search import ArticleState, search_articles
from orchestrator.article_workflow.citing_articles import MAX_PATH, find_citing
from orchestrator.article_workflow.models import (
    ArticleList,
    CheckedTextView,
    CheckTextBody,
    CitingArticleList,
    ContentList,
    ContentView,
    EvidenceView,
    MarkedArticleView,
    ScoreView,
)
from orchestrator.article_workflow.store import StoredContent, find_content, find_contents
from orchestrator.article_workflow.text_checks import TextChecks
from orchestrator.article_workflow.versions import MAX_VERSION, find_evidence, find_marked
from orchestrator.brands import seen_slug
from orchestrator.removal import find_deleted
from orchestrator.requests import WITHOUT_NUL

MAX_IDS: Final = 50
CHECK: Final = "/v1/content/{content_id}/check"
LARGER_TEXTS: Final = {CHECK: 1_500_000}
"""100,000 characters, each written as two JSON escapes, come to 1.2 MB."""
GONE: Final = refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom.")


def content_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _reading(database), _checking(database))
    return routes


def _reading(database: Database) -> APIRouter:
    routes = router(tags=["content"])

    @routes.get(
        "/content/{content_id}",
        summary="Read an article",
        response_model=ContentView,
        responses={**READ, **UNKNOWN, **GONE},
    )
    async def get_article(caller: MayRead, content_id: UUID, if_none_match: IfNoneMatch = None) -> Response:
        """Returns published articles and waiting drafts; `held_for` says why a draft waits."""
        content = await _known(database, content_id, caller)
        return conditional(ContentView.of(content).model_dump_json(), if_none_match)

    @routes.get(
        "/content/{content_id}/score",
        summary="Read an article's measures",
        response_model=ScoreView,
        responses={**READ, **UNKNOWN, **GONE},
    )
    async def get_article_score(
        caller: MayRead, content_id: UUID, if_none_match: IfNoneMatch = None
    ) -> Response:
        """Returns each measure with the bounds that applied when the article was written."""
        content = await _known(database, content_id, caller)
        return conditional(ScoreView.of(content).model_dump_json(), if_none_match)

    @routes.get(
        "/content/{content_id}/evidence",
        summary="Read what an article rests on",
        response_model=EvidenceView,
        responses={**READ, **UNKNOWN, **GONE},
    )
    async def get_article_evidence(
        caller: MayRead,
        content_id: UUID,
        version: Annotated[
            int | None, Query(description="Left out: the version that stands.", ge=1, le=MAX_VERSION)
        ] = None,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Returns each sentence with its sources, passages and verdict, and the sentences of a model that were cut."""
        await _known(database, content_id, caller)
        async with database.connection() as connection:
            found = await find_evidence(connection, content_id, version)
        if found is None:
            raise RefusalError(
                codes.UNKNOWN_VERSION, f"there is no version {version} of article {content_id}"
            )
        return conditional(EvidenceView.of(content_id, found).model_dump_json(), if_none_match)

    @routes.get(
        "/content/{content_id}/sentences",
        summary="Read an article sentence by sentence",
        response_model=MarkedArticleView,
        responses={**READ, **UNKNOWN, **GONE},
    )
    async def get_article_sentences(
        caller: MayRead,
        content_id: UUID,
        version: Annotated[
            int | None, Query(description="Left out: the version that stands.", ge=1, le=MAX_VERSION)
        ] = None,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Returns the blocks of a version with the verdict of each sentence; those that people changed are compared by rules on words."""
        await _known(database, content_id, caller)
        async with database.connection() as connection:
            found = await find_marked(connection, content_id, version)
        if found is None:
            raise RefusalError(
                codes.UNKNOWN_VERSION, f"there is no version {version} of article {content_id}"
            )
        return conditional(MarkedArticleView.of(content_id, found).model_dump_json(), if_none_match)

    @routes.get(
        "/content",
        summary="Read several articles",
        response_model=ContentList,
    )
    async def get_articles(
        caller: MayRead,
        content_id: Annotated[list[UUID], Query(alias="id", min_length=1, max_length=MAX_IDS)],
    ) -> Response:
        """Returns each article with the `ETag` that reading it alone gives; unknown articles are left out."""
        with kept_plans():
            async with database.connection() as connection:
                found = await find_contents(connection, content_id, caller.brands)
        items = [_listed(ContentView.of(content).model_dump_json()) for content in found]
        return Response(f'{{"items":[{",".join(items)}]}}', media_type="application/json")

    @routes.get("/articles", summary="Search articles")
    async def search_for_articles(
        caller: MayRead,
        brand: Annotated[
            str | None, Query(description="Only articles of this brand.", max_length=200, pattern=WITHOUT_NUL)
        ] = None,
        q: Annotated[
            str | None,
            Query(
                description="Only articles whose title or keyword has all of these words, or words that start with them.",
                min_length=1,
                max_length=200,
                pattern=WITHOUT_NUL,
            ),
        ] = None,
        state: Annotated[ArticleState | None, Query(description="Only articles in this state.")] = None,
        since: Annotated[
            Moment | None, Query(description="Only articles that were written from this time on.")
        ] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> ArticleList:
        """Searches all cycles, also ended and removed ones; the latest first. Includes drafts and pages that were taken down."""
        brands = caller.brands if brand is None else {seen_slug(brand, caller)}
        async with database.connection() as connection:
            found = await search_articles(
                connection,
                brands=brands,
                text=q,
                after=after,
                limit=limit + 1,
                state=state,
                since=since,
            )
        return ArticleList.of(found, limit)

    @routes.get("/sources/sentences", summary="Read what rests on a document")
    async def get_sentences_of_source(
        caller: MayRead,
        path: Annotated[
            str,
            Query(
                description="The document, as the `path` of an article's source: its name, or its place in the shared folder.",
                min_length=1,
                max_length=MAX_PATH,
                pattern=WITHOUT_NUL,
                examples=["cold-brew.md"],
            ),
        ],
        brand: Annotated[
            str | None, Query(description="Only articles of this brand.", max_length=200, pattern=WITHOUT_NUL)
        ] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> CitingArticleList:
        """Returns the articles that cite a document, the latest first, each with the sentences that rest on it and their places in it.

        A brand's own document and a file of the shared folder that have one name are not told apart.
        """
        brands = caller.brands if brand is None else {seen_slug(brand, caller)}
        async with database.connection() as connection:
            found = await find_citing(connection, path, brands=brands, after=after, limit=limit + 1)
        return CitingArticleList.of(found, limit)

    return routes


def _checking(database: Database) -> APIRouter:
    routes = router(tags=["content"])
    checks = TextChecks(database)

    @routes.post(
        "/content/{content_id}/check",
        summary="Check a text without saving it",
        responses={
            **UNKNOWN,
            **GONE,
            **refusal(
                HTTPStatus.TOO_MANY_REQUESTS, "Many texts are being checked; again after `Retry-After`."
            ),
        },
    )
    async def check_article_text(
        caller: MayRead, content_id: UUID, request: CheckTextBody
    ) -> CheckedTextView:
        """Compares each changed sentence with the passages by rules on words. Nothing is stored, and no model is asked."""
        await _known(database, content_id, caller)
        found = await checks.check(caller.name, content_id, request.version, request.body_markdown)
        if found is None:
            raise RefusalError(
                codes.UNKNOWN_VERSION, f"there is no version {request.version} of article {content_id}"
            )
        return CheckedTextView.of(content_id, found)

    return routes


async def _known(database: Database, content_id: UUID, caller: Caller) -> StoredContent:
    async with database.connection() as connection:
        content = await find_content(connection, content_id, caller.brands)
        gone = None if content else await find_deleted(connection, content_id, caller.brands)
    if gone is not None:
        raise RefusalError(codes.ARTICLE_DELETED, str(gone))
    if content is None:
        raise _unknown(content_id)
    return content


def _unknown(content_id: UUID) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_ARTICLE, f"there is no article {content_id}; if it is being written, try again later"
    )


def _listed(document: str) -> str:
    return f'{{"etag":{json.dumps(entity_tag(document))},"content":{document}}}'
