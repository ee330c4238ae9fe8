"""HTTP API of audits: start, list and read."""

from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query, Response

from chassis import Connection
from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayRead, MaySubmit, conditional, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import PageLimit
from chassis.http.problem_codes import RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.answers import LOCATION
from orchestrator.audits import store
from orchestrator.audits.auditing import audit_in
from orchestrator.audits.models import AuditLine, AuditList, AuditView
from orchestrator.brands import BrandSlug, Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import BrandLimits
from orchestrator.moving import hold_unmoved

PAGE: Final = 50


def audit_routes(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router("/brands/{slug}/audits", tags=["audits"])

    @routes.post(
        "",
        summary="Audit a brand now",
        status_code=HTTPStatus.CREATED,
        responses={
            200: {"model": AuditView, "description": "An audit of the last minute exists; this is it."},
            201: {"headers": LOCATION, "description": "The audit is new."},
            **UNKNOWN,
        },
    )
    async def audit_brand(caller: MaySubmit, slug: Slug, response: Response) -> AuditView:
        """Returns the findings, and has stale articles rewritten as far as the brand's `refresh_stale` allows.

        A repeated request within a minute returns the same report.
        """
        brand = seen_slug(slug, caller)
        async with database.transaction() as tx:
            await hold_unmoved(tx.connection, brand)
            audit, is_new = await audit_in(tx, brand, limits, by=caller.name)
        if is_new:
            response.headers["Location"] = f"/v1/brands/{slug}/audits/{audit.audit_id}"
        else:
            response.status_code = HTTPStatus.OK
        return AuditView.from_row(audit)

    @routes.get("", summary="List audits", response_model=AuditList, responses={**READ, **UNKNOWN})
    async def list_audits(
        caller: MayRead,
        slug: Slug,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """The latest first; a brand keeps the newest 100."""
        async with database.connection() as connection:
            brand = await _brand(connection, slug, caller)
            found = await store.find_audits(connection, brand, after=after, limit=limit + 1)
        page = found[:limit]
        answer = AuditList(
            items=tuple(AuditLine.from_row(each) for each in page),
            next=page[-1].audit_id if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get(
        "/{audit_id}", summary="Read an audit", response_model=AuditView, responses={**READ, **UNKNOWN}
    )
    async def get_audit(
        caller: MayRead, slug: Slug, audit_id: UUID, if_none_match: IfNoneMatch = None
    ) -> Response:
        async with database.connection() as connection:
            brand = await _brand(connection, slug, caller)
            audit = await store.find_audit(connection, brand, audit_id)
        if audit is None:
            raise RefusalError(
                codes.UNKNOWN_AUDIT,
                f"'{slug}' has no audit {audit_id}; GET /v1/brands/{slug}/audits lists those that are kept",
            )
        return conditional(AuditView.from_row(audit).model_dump_json(), if_none_match)

    return routes


async def _brand(connection: Connection, slug: str, caller: Caller) -> BrandSlug:
    brand = seen_slug(slug, caller)
    if await find_brand(connection, brand) is None:
        raise UnknownBrandError(slug)
    return brand
