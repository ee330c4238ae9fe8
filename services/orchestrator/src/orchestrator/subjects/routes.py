"""HTTP API of subjects, and of decisions about them."""

from typing import Annotated

from fastapi import APIRouter, Query

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, Moment, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from messaging import Database
from orchestrator.brands import BrandSlug, Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.requests import WITHOUT_NUL
from orchestrator.subjects.decisions import find_decisions, find_subjects, join_subjects, split_subject
from orchestrator.subjects.models import (
    MAX_KEYWORD,
    SubjectDecisionList,
    SubjectDecisionRequest,
    SubjectDecisionResult,
    SubjectDecisionView,
    SubjectList,
    SubjectView,
)


def subject_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}", tags=["brands"])

    @routes.get("/subjects", summary="List the subjects of a brand", responses=UNKNOWN)
    async def list_subjects(
        caller: MayRead,
        slug: Slug,
        keyword: Annotated[
            str | None,
            Query(
                max_length=MAX_KEYWORD, pattern=WITHOUT_NUL, description="Only the subject of this keyword."
            ),
        ] = None,
        after: Annotated[
            str, Query(max_length=2_000, pattern=WITHOUT_NUL, description="`next` of the page before.")
        ] = "",
        limit: PageLimit = DEFAULT_PAGE,
    ) -> SubjectList:
        """Lists the subjects with an article or with a keyword in work. Keywords with one key are one subject and get one article."""
        async with database.connection() as connection:
            brand = await _brand(connection, slug, caller)
            found = await find_subjects(connection, brand, keyword=keyword, after=after, limit=limit + 1)
        page = found[:limit]
        return SubjectList(
            items=tuple(map(SubjectView.from_row, page)), next=page[-1].key if len(found) > limit else None
        )

    @routes.get("/subject-decisions", summary="List joins and splits of subjects", responses=UNKNOWN)
    async def list_subject_decisions(
        caller: MayRead,
        slug: Slug,
        after: Annotated[Moment | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> SubjectDecisionList:
        """Lists the decisions in force, the latest first."""
        async with database.connection() as connection:
            brand = await _brand(connection, slug, caller)
            found = await find_decisions(connection, brand, after=after, limit=limit + 1)
        page = found[:limit]
        return SubjectDecisionList(
            items=tuple(map(SubjectDecisionView.from_row, page)),
            next=page[-1].decided_at if len(found) > limit else None,
        )

    @routes.post("/subject-decisions", summary="Join two subjects, or split one", responses=UNKNOWN)
    async def create_subject_decision(
        caller: MayOperate, slug: Slug, request: SubjectDecisionRequest
    ) -> SubjectDecisionResult:
        """Joins two subjects, or splits one. Applies to later keywords, under all later rules; work in progress and articles stay.

        A repeated request changes nothing.
        """
        async with database.transaction() as tx:
            brand = await _brand(tx.connection, slug, caller)
            if request.other is not None:
                changed = await join_subjects(
                    tx.connection, brand, request.keyword, request.other, by=caller.name
                )
            else:
                changed = await split_subject(tx.connection, brand, request.keyword, by=caller.name)
        return SubjectDecisionResult(
            kind=request.kind, keyword=request.keyword, other=request.other, changed=changed
        )

    return routes


async def _brand(connection: Connection, slug: str, caller: Caller) -> BrandSlug:
    brand = seen_slug(slug, caller)
    if await find_brand(connection, brand) is None:
        raise UnknownBrandError(slug)
    return brand
