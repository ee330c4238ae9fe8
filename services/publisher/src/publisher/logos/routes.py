"""`/v1/brands/{slug}/logo`: sets, shows and deletes a brand's logo."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request, Response

from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    View,
    conditional,
    file_body,
    router,
)
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher.domain import BrandSlug, Logo, LogoBackground, UnusableLogoError
from publisher.logos import store
from publisher.urls import SiteUrls

MAX_BYTES: Final = 1_000_000
"""Largest accepted file, in bytes."""
LOGO: Final = "/v1/brands/{slug}/logo"
FILES: Final = {LOGO: MAX_BYTES}
"""Routes that accept a file, with its largest size in bytes."""

Brand = Annotated[Slug, Path(description="The brand.")]


class LogoView(View):
    """A brand's logo as pages show it."""

    url: str
    """The address of the picture: PNG, drawn anew, without transparent margins."""
    width: int
    """In pixels."""
    height: int
    plate: LogoBackground | None
    """The background that pages put behind the logo on light or dark pages; null if it needs none."""


def logo_routes(database: Database, urls: SiteUrls) -> APIRouter:
    routes = router(LOGO.removeprefix("/v1"), tags=["logos"])

    def view(brand: BrandSlug, logo: Logo) -> LogoView:
        url = urls.absolute(urls.logo(brand, logo.digest))
        return LogoView(url=url, width=logo.width, height=logo.height, plate=logo.plate)

    @routes.put(
        "",
        summary="Set a brand's logo",
        responses=UNKNOWN,
        openapi_extra=file_body("image/png", "image/jpeg", "image/webp"),
    )
    async def set_logo(request: Request, caller: MayOperate, slug: Brand) -> LogoView:
        """The body is the file itself: PNG, JPEG or WebP. Repeating the request changes nothing.

        The service stores a redrawn picture without the file's metadata. From then on pages and new covers show it.
        """
        brand = _visible(caller, slug)
        try:
            # In a thread: the event loop serves pages meanwhile.
            logo, body = await asyncio.to_thread(normalised, await request.body())
        except UnusableLogoError as error:
            raise RefusalError(codes.INVALID_PICTURE, str(error)) from error
        async with database.transaction() as tx:
            await store.save(tx.connection, brand, logo, body)
        return view(brand, logo)

    @routes.get("", summary="Get a brand's logo", response_model=LogoView, responses={**READ, **UNKNOWN})
    async def get_logo(caller: MayRead, slug: Brand, if_none_match: IfNoneMatch = None) -> Response:
        brand = _visible(caller, slug)
        async with database.connection() as connection:
            logo = await store.logo(connection, brand)
        if logo is None:
            raise _no_logo(brand)
        return conditional(view(brand, logo).model_dump_json(), if_none_match)

    @routes.delete("", status_code=HTTPStatus.NO_CONTENT, summary="Delete a brand's logo", responses=UNKNOWN)
    async def delete_logo(caller: MayOperate, slug: Brand) -> None:
        """Removes the logo from pages and covers from now on."""
        brand = _visible(caller, slug)
        async with database.transaction() as tx:
            removed = await store.remove(tx.connection, brand)
        if not removed:
            raise _no_logo(brand)

    return routes


def normalised(file: bytes) -> tuple[Logo, bytes]:
    """Returns the logo of a picture file, and the file that pages get.

    Raises:
        UnusableLogoError: it cannot be a logo.
    """
    # The imaging library takes memory, so it loads at its first use.
    from publisher.logos.logo_file import normalise_logo  # noqa: PLC0415

    return normalise_logo(file)


def _visible(caller: Caller, slug: str) -> BrandSlug:
    if not caller.may_see(slug):
        raise _no_logo(slug)
    return BrandSlug(slug)


def _no_logo(slug: str) -> RefusalError:
    return RefusalError(codes.NO_LOGO, f"{slug} has no logo; PUT one as PNG, JPEG or WebP")
