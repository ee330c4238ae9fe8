"""HTTP routes of article versions."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayRead, conditional, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import MAX_VERSION, Version, find_content, find_version, versions_of
from orchestrator.review.differences import difference, document
from orchestrator.review.models import DifferenceView, VersionList, VersionSummaryView, VersionView

Number = Annotated[int, Path(ge=1, le=MAX_VERSION)]
NumberAsked = Annotated[int, Query(ge=1, le=MAX_VERSION)]


def version_routes(database: Database) -> APIRouter:
    routes = router(tags=["content"])

    @routes.get("/content/{content_id}/versions", summary="List an article's versions", responses=UNKNOWN)
    async def list_article_versions(
        caller: MayRead,
        content_id: UUID,
        after: Annotated[int, Query(description="`next` of the page before.", ge=0, le=MAX_VERSION)] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> VersionList:
        """All versions with their author, time and reason, first one first."""
        async with database.connection() as connection:
            content = await find_content(connection, content_id, caller.brands)
            notes = (
                []
                if content is None
                else await versions_of(connection, content_id, after=after, limit=limit + 1)
            )
        if content is None:
            raise unknown_article(content_id)
        return VersionList(
            items=tuple(map(VersionSummaryView.from_row, notes[:limit])),
            next=notes[limit - 1].version if len(notes) > limit else None,
            stands=content.version,
        )

    @routes.get(
        "/content/{content_id}/versions/{version}",
        summary="Read a version of an article",
        response_model=VersionView,
        responses={**READ, **UNKNOWN},
    )
    async def get_article_version(
        caller: MayRead, content_id: UUID, version: Number, if_none_match: IfNoneMatch = None
    ) -> Response:
        found = await _known(database, content_id, version, caller)
        return conditional(VersionView.of_version(content_id, found).model_dump_json(), if_none_match)

    @routes.get("/content/{content_id}/diff", summary="Compare two versions of an article", responses=UNKNOWN)
    async def compare_article_versions(
        caller: MayRead,
        content_id: UUID,
        first: Annotated[NumberAsked, Query(alias="from")],
        second: Annotated[NumberAsked, Query(alias="to")],
    ) -> DifferenceView:
        """A line diff of two versions."""
        before, after = [await _known(database, content_id, each, caller) for each in (first, second)]
        found = await asyncio.to_thread(
            difference,
            document(before.text),
            document(after.text),
            called=(f"version {first}", f"version {second}"),
        )
        return DifferenceView(first=first, second=second, diff=found.text, is_cut=found.is_cut)

    return routes


def unknown_article(content_id: UUID) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_ARTICLE, f"there is no article {content_id}; if it is being written, try again later"
    )


async def _known(database: Database, content_id: UUID, version: int, caller: Caller) -> Version:
    async with database.connection() as connection:
        found = await find_version(connection, content_id, version, caller.brands)
    if found is None:
        raise RefusalError(
            codes.UNKNOWN_VERSION,
            f"there is no version {version} of article {content_id}; GET /v1/content/{content_id}/versions lists what"
            " there is",
        )
    return found
