"""`/v1/brands/{slug}/drafts/{content_id}/page`: a version of an article as its page would look, in one document."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from chassis.http.api import UNKNOWN, MayRead, router
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database, RetryLater, Unprocessable
from publisher import problem_codes as codes
from publisher.previews.pages import DraftReader, page_of, site_of
from publisher.rendering import Renderer
from publisher.urls import SiteUrls

_MAX_VERSION: Final = 2**31 - 1


def draft_page_routes(database: Database, urls: SiteUrls, drafts: DraftReader) -> APIRouter:
    routes = router("/brands/{slug}/drafts/{content_id}/page", tags=["previews"])
    renderer = Renderer(urls)

    @routes.get(
        "",
        summary="A version of an article as its page would look",
        response_class=Response,
        responses={
            200: {"description": "One document.", "content": {"text/html": {"schema": {"type": "string"}}}},
            **UNKNOWN,
        },
    )
    async def get_draft_page(
        caller: MayRead,
        slug: Annotated[Slug, Path(description="The brand.")],
        content_id: UUID,
        version: Annotated[int, Query(ge=1, le=_MAX_VERSION, description="Which of its versions.")],
    ) -> Response:
        """The stylesheet is in the document, so that it can be shown within another page."""
        caller.check_visible(slug)
        try:
            article = await drafts.version(content_id, version)
        except (RetryLater, Unprocessable) as problem:
            raise RefusalError(codes.ARTICLE_NOT_READ, f"{problem}; try again later") from problem
        if article is None or article.brand.slug != slug:
            raise RefusalError(
                codes.UNKNOWN_ARTICLE, f"{slug} has no article {content_id} with a version {version}"
            )
        document = renderer.draft_page(await site_of(database, article), page_of(article, urls))
        # No browser opens it here: callers take the document as it is.
        headers = {
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
            "Cache-Control": "private, no-store",
        }
        return Response(document, media_type="text/html; charset=utf-8", headers=headers)

    return routes
