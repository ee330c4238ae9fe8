"""`/v1/brands/{slug}/previews`: links to drafts."""

import secrets
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from chassis.http.api import UNKNOWN, MayReview, View, router
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher.domain import BrandSlug
from publisher.previews import store
from publisher.urls import SiteUrls

PREVIEWS: Final = "/v1/brands/{slug}/previews"
MADE_ONCE: Final = (PREVIEWS,)
"""Routes with answers that are never repeated: the link in them opens the draft."""
_LONGEST_HOURS: Final = 24 * 30


class PreviewRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    content_id: UUID
    hours: Annotated[int, Field(ge=1, le=_LONGEST_HOURS)] = 24
    """Hours until the link expires."""


class PreviewLinkView(View):
    url: str
    expires_at: datetime


def preview_routes(database: Database, urls: SiteUrls) -> APIRouter:
    routes = router(PREVIEWS.removeprefix("/v1"), tags=["previews"])

    @routes.post(
        "", status_code=HTTPStatus.CREATED, summary="Create a preview link to a draft", responses=UNKNOWN
    )
    async def create_preview(
        request: PreviewRequest, caller: MayReview, slug: Annotated[Slug, Path(description="The brand.")]
    ) -> PreviewLinkView:
        """The link shows the article's current text, published or not, without a key. The answer is the only place that shows the link."""
        caller.check_visible(slug)
        word = secrets.token_urlsafe(32)
        async with database.transaction() as tx:
            lasts = timedelta(hours=request.hours)
            expires_at = await store.create_link(
                tx.connection, word, BrandSlug(slug), request.content_id, lasts
            )
        return PreviewLinkView(url=urls.absolute(urls.preview(word)), expires_at=expires_at)

    return routes
