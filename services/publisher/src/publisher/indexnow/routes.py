"""`/v1/brands/{slug}/site/indexnow`: turns notifications of search engines on and off, and shows their state."""

import secrets
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path

from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, router
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher.domain import BrandSlug
from publisher.indexnow import store
from publisher.site_settings import address_of
from publisher.urls import SiteUrls

Brand = Annotated[Slug, Path(description="The brand.")]


class IndexNowView(View):
    is_on: bool
    key_url: str | None
    """The address at which search engines read the brand's key."""
    waiting: int
    """Changed addresses not yet sent to search engines."""
    told_at: datetime | None
    problem: str
    """Why the last notification failed, and what to do; empty if it succeeded."""


def indexnow_routes(database: Database, urls: SiteUrls) -> APIRouter:
    routes = router("/brands/{slug}/site/indexnow", tags=["sites"])

    async def view(brand: BrandSlug) -> IndexNowView:
        async with database.connection() as connection:
            found = await store.find(connection, brand)
            address = await address_of(connection, brand)
        if found is None:
            return IndexNowView(is_on=False, key_url=None, waiting=0, told_at=None, problem="")
        home = urls.at(brand, address)
        return IndexNowView(
            is_on=True,
            key_url=home.absolute(home.engine_key(brand, found.key)),
            waiting=found.waiting,
            told_at=found.told_at,
            problem=found.problem,
        )

    @routes.get("", summary="Show the state of search engine notifications", responses=UNKNOWN)
    async def get_indexnow(caller: MayRead, slug: Brand) -> IndexNowView:
        return await view(BrandSlug(caller.check_visible(slug)))

    @routes.put("", summary="Notify search engines of changes", responses=UNKNOWN)
    async def enable_indexnow(caller: MayOperate, slug: Brand) -> IndexNowView:
        """Notifies search engines of changes from now on, by IndexNow.

        Needs an account of the kind `indexnow` at the gateway. Repeating the request changes nothing.
        """
        brand = BrandSlug(caller.check_visible(slug))
        async with database.transaction() as tx:
            await store.turn_on(tx.connection, brand, secrets.token_hex(16))
        return await view(brand)

    @routes.delete(
        "",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Stop notifying search engines",
        responses=UNKNOWN,
    )
    async def disable_indexnow(caller: MayOperate, slug: Brand) -> None:
        """Deletes the brand's key; turning it on again creates another one. Succeeds also if it is off already."""
        brand = BrandSlug(caller.check_visible(slug))
        async with database.transaction() as tx:
            await store.turn_off(tx.connection, brand)

    return routes
