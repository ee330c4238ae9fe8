"""`/v1/brands/{slug}/topics`: the subjects of a brand's documents."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import asyncpg
from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayRead, View, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from messaging import Database
from reading.licences import is_free
from research.index import topics
from research.index.files import corpus_of_brand
from research.sources import store
from research.sources.routes import Slug

_MAX_ID: Final = 2**63 - 1


class TopicView(View):
    keyword: str
    page: str
    """Title of the document."""
    words: int
    """Of the section about it, with all sections below."""
    quotable: bool
    """Whether it can become an article of this document alone; otherwise an article quotes it briefly and needs other sources."""


class TopicList(View):
    items: list[TopicView]
    next: int | None
    """Start of the next page: send it as `after`."""


MayQuote = Callable[[asyncpg.Record], Awaitable[bool]]
"""Whether articles may print whole paragraphs of a document of the index."""


async def may_quote_as_stated(document: asyncpg.Record) -> bool:
    """Whether the document is the brand's own, or states a free licence."""
    return document["own"] is True or is_free(document["licence"])


def topic_routes(database: Database, may_quote: MayQuote) -> APIRouter:
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
        items = [
            TopicView(
                keyword=each.keyword,
                page=each.page,
                words=each.words,
                quotable=await may_quote(each.document),
            )
            for each in found
        ]
        return TopicList(items=items, next=more)

    return routes
