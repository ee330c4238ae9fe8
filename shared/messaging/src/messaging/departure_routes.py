"""`/v1/brands/{slug}/departure`: has a service publish nothing of a brand again, because it moves to another installation."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from chassis.http.api import MayAdminister, View, needs, refusal, router
from chassis.http.callers import Caller, Scope
from messaging.departures import BrandDeparture, BrandDepartures
from messaging.flow.transactions import Database

_MAX_SLUG: Final = 63


class DepartureRequest(BaseModel):
    """The move with which a brand leaves."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    move_id: UUID


class BrandDepartureView(View):
    """Whether a brand has left this service."""

    move_id: UUID | None
    left_at: datetime | None
    """Null: it has not left, and its messages are handled."""
    under_way: dict[str, int]
    """What of it is going out here, by kind; it leaves only without any."""

    @classmethod
    def of(cls, found: BrandDeparture) -> "BrandDepartureView":
        return cls(move_id=found.move_id, left_at=found.left_at, under_way=dict(found.under_way))


def departure_routes(database: Database, departures: BrandDepartures, *, slug_pattern: str) -> APIRouter:
    """Builds the routes; `slug_pattern` is that of brands' slugs."""
    routes = router("/brands/{slug}/departure", tags=["brands"])
    Slug = Annotated[str, Path(pattern=slug_pattern, max_length=_MAX_SLUG)]  # noqa: N806 - a type
    Mover = Annotated[Caller, needs(Scope.ADMIN, of_all_brands=True)]  # noqa: N806

    @routes.get("", summary="Whether a brand has left, and what of it is going out")
    async def get_brand_departure(caller: MayAdminister, slug: Slug) -> BrandDepartureView:
        """Also of a brand that is unknown here."""
        caller.check_visible(slug)
        async with database.connection() as connection:
            return BrandDepartureView.of(await departures.find(connection, slug))

    @routes.put(
        "",
        summary="Publish nothing of a brand again, as it moves to another installation",
        responses={**refusal(HTTPStatus.CONFLICT, "It has left with another move.")},
    )
    async def set_brand_departure(caller: Mover, slug: Slug, request: DepartureRequest) -> BrandDepartureView:
        """Messages about the brand are dropped from then on, whenever they were sent. It stays while something of it is going out."""
        caller.check_visible(slug)
        return BrandDepartureView.of(await departures.leave(database, slug, request.move_id))

    @routes.delete("", summary="Undo the departure of a brand", status_code=HTTPStatus.NO_CONTENT)
    async def delete_brand_departure(caller: Mover, slug: Slug) -> None:
        """Its messages are handled again. No error without a departure."""
        caller.check_visible(slug)
        await departures.stay(database, slug)

    return routes
