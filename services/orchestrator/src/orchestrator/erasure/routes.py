"""HTTP routes of brand erasure."""

from http import HTTPStatus

from fastapi import APIRouter

from chassis.http.api import UNKNOWN, MayAdminister, router
from chassis.http.problem_codes import RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.brands import Slug, seen_slug
from orchestrator.erasure import store
from orchestrator.erasure.erasing import erase
from orchestrator.erasure.models import ErasureBody, ErasureView


def erasure_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}", tags=["brands"])

    @routes.post("/erase", summary="Erase a brand", status_code=HTTPStatus.ACCEPTED, responses=UNKNOWN)
    async def erase_brand(caller: MayAdminister, slug: Slug, request: ErasureBody) -> ErasureView:
        """Erases a brand for good: here at once, then in the other services. A repeated request changes nothing."""
        brand = seen_slug(slug, caller)
        if request.confirm != slug:
            raise RefusalError(
                codes.ERASURE_NOT_CONFIRMED, f"confirm: must be '{slug}', the brand that is to be erased"
            )
        return ErasureView.from_row(await erase(database, brand, by=caller.name))

    @routes.get("/erasure", summary="How the erasure of a brand goes", responses=UNKNOWN)
    async def get_brand_erasure(caller: MayAdminister, slug: Slug) -> ErasureView:
        """The latest erasure of this name, with the receipts so far."""
        brand = seen_slug(slug, caller)
        async with database.connection() as connection:
            found = await store.find_erasure(connection, brand)
        if found is None:
            raise RefusalError(codes.UNKNOWN_ERASURE, f"no brand '{slug}' was erased")
        return ErasureView.from_row(found)

    return routes
