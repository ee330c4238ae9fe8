"""`/v1/brands/{slug}/targets` and `…/publications`: a brand's settings by target, and its articles at targets."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import UNKNOWN_BRAND, RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher.targets import publications
from publisher.targets.filing import folders
from publisher.targets.resolution import SITE
from publisher.targets.settings import NAME_PATTERN, TargetSettings

Brand = Annotated[Slug, Path(description="The brand.")]
Target = Annotated[str, Path(pattern=NAME_PATTERN, max_length=40, examples=["company-blog"])]


class TargetView(View):
    target: str
    settings: TargetSettings


class TargetList(View):
    items: tuple[TargetView, ...]


PublicationState = Literal["writing", "published", "unpublished", "failed"]


class PublicationView(View):
    """An article at a target other than the built-in site."""

    content_id: UUID
    target: str
    kind: str
    account: str
    """The gateway's account; empty for `files`."""
    state: PublicationState
    """`failed`: the last attempt failed; an earlier version stays at the target."""
    reason: str
    detail: str
    """Why it failed, and what to do."""
    remote_id: str | None
    """The target's own id; for `files` the path below the target's folder."""
    url: str | None
    as_of: datetime | None
    """The article's `updated_at` of the version at the target."""
    created_at: datetime
    changed_at: datetime


class PublicationList(View):
    items: tuple[PublicationView, ...]
    next: int | None
    """The position of the next page: send it as `after`."""


def target_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}", tags=["targets"])

    @routes.put(
        "/targets/{target}",
        summary="Set a brand's settings for a target",
        responses={
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The folder belongs to another brand, or overlaps such a folder."),
        },
    )
    async def set_target(
        caller: MayOperate, slug: Brand, target: Target, settings: TargetSettings
    ) -> TargetView:
        """Replaces all settings: omitted fields get their defaults. Applies to articles published from then on.

        A key of the scope `admin` that is bound to no brand may give a brand any `folder`; other keys may name the brand's folders.
        """
        _check_visible(caller, slug)
        if target == SITE:
            raise RefusalError(
                codes.TARGET_IS_BUILT_IN,
                f"the settings of the built-in site are at /v1/brands/{slug}/site (brandctl site set)",
            )
        async with database.transaction() as tx:
            await _set(tx.connection, caller, slug, target, settings)
        return TargetView(target=target, settings=settings)

    @routes.get("/targets", summary="List a brand's settings by target", responses=UNKNOWN)
    async def list_targets(caller: MayRead, slug: Brand) -> TargetList:
        """Lists the targets with settings."""
        _check_visible(caller, slug)
        async with database.connection() as connection:
            found = await publications.all_settings(connection, slug)
        return TargetList(items=tuple(TargetView(target=name, settings=each) for name, each in found))

    @routes.get("/targets/{target}", summary="Get a brand's settings for a target", responses=UNKNOWN)
    async def get_target(caller: MayRead, slug: Brand, target: Target) -> TargetView:
        _check_visible(caller, slug)
        async with database.connection() as connection:
            settings = await publications.settings_of(connection, slug, target)
        if settings is None:
            raise _nothing_set(slug, target)
        return TargetView(target=target, settings=settings)

    @routes.delete(
        "/targets/{target}",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Delete a brand's settings for a target",
        responses=UNKNOWN,
    )
    async def delete_target(caller: MayOperate, slug: Brand, target: Target) -> None:
        """Published articles stay at the target."""
        _check_visible(caller, slug)
        async with database.transaction() as tx:
            removed = await publications.remove_settings(tx.connection, slug, target)
        if not removed:
            raise _nothing_set(slug, target)

    @routes.get("/publications", summary="List a brand's publications", responses=UNKNOWN)
    async def list_publications(
        caller: MayRead,
        slug: Brand,
        state: Annotated[PublicationState | None, Query(description="Only those in this state.")] = None,
        newest: Annotated[bool, Query(description="The newest first.")] = False,
        after: Annotated[int, Query(ge=0, lt=2**63, description="`next` of the previous page.")] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> PublicationList:
        """Lists the brand's articles at targets other than the built-in site, in the order of creation or the reverse."""
        _check_visible(caller, slug)
        async with database.connection() as connection:
            found = await publications.of_brand(
                connection, slug, state=state, newest=newest, after=after, limit=limit + 1
            )
        return PublicationList(
            items=tuple(map(PublicationView.from_row, found[:limit])),
            next=found[limit - 1].number if len(found) > limit else None,
        )

    return routes


async def _set(
    connection: Connection, caller: Caller, slug: str, target: str, settings: TargetSettings
) -> None:
    if settings.folder is not None:
        await _check_folder(connection, caller, slug, settings.folder)
    await publications.set_settings(connection, slug, target, settings)
    if caller.is_administrator:
        await folders.release_unused(connection, slug)


async def _check_folder(connection: Connection, caller: Caller, slug: str, folder: str) -> None:
    """Raises RefusalError: the folder belongs to another brand, or the caller may not assign it."""
    if not caller.is_administrator and not await folders.is_within_own(connection, slug, folder):
        raise RefusalError(
            codes.FOLDER_NOT_GIVEN,
            f"folder: '{folder}' is not within a folder of '{slug}'. Leave it out, or name '{slug}' or one below it. Another folder is"
            " given with a key of the scope 'admin' that is bound to no brand.",
        )
    if not await folders.take(connection, slug, folder):
        raise RefusalError(
            codes.FOLDER_TAKEN,
            f"folder: '{folder}' belongs to another brand, or overlaps a folder of one; name another",
        )


def _nothing_set(slug: str, target: str) -> RefusalError:
    return RefusalError(codes.NOTHING_SET, f"there are no settings for the target '{target}' of '{slug}'")


def _check_visible(caller: Caller, slug: str) -> None:
    if not caller.may_see(slug):
        raise RefusalError(UNKNOWN_BRAND, f"there is no brand '{slug}', or your key is for others")
