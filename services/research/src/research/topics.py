"""`/v1/brands/{slug}/topics`: what a brand's documents treat."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import ConfigDict

from chassis.http.api import UNKNOWN, MayRead, View, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from messaging import Database
from research.index import topics
from research.index.files import corpus_of_brand
from research.sources import store
from research.sources.routes import Slug

_MAX_ID: Final = 2**63 - 1


class TopicView(View):
    model_config = ConfigDict(from_attributes=True)

    keyword: str
    page: str
    """Title of the document."""
    words: int
    """Of the section about it, with all sections below."""


class TopicList(View):
    items: list[TopicView]
    next: int | None
    """Start of the next page: send it as `after`."""


def topic_routes(database: Database) -> APIRouter:
    """Build the route."""
    routes = router("/brands", tags=["sources"])

    @routes.get("/{slug}/topics", summary="Keywords that the documents of a brand treat", responses=UNKNOWN)
    async def list_topics(
        caller: MayRead,
        slug: Slug,
        after: Annotated[int, Query(description="`next` of the page before.", ge=0, le=_MAX_ID)] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> TopicList:
        """Titles of pages and headings with enough text for an article, in the brand's own documents and, if it uses it, the folder.

        Documents that research has not read yet are missing. Pages of the web are no part of it.
        """
        caller.check_visible(slug)
        async with database.connection() as connection:
            sources = await store.sources_of(connection, slug)
            corpora = [corpus_of_brand(slug)]
            if sources.folder:
                corpora += await topics.folders(connection)
            found, more = await topics.list_topics(connection, corpora, after=after, limit=limit)
        return TopicList(items=[TopicView.model_validate(each) for each in found], next=more)

    return routes
