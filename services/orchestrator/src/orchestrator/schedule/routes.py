"""HTTP routes of schedules: create, read, pause, resume, delete."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from chassis import Connection
from chassis.http.api import (
    ETAG,
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayRead,
    MaySubmit,
    Moment,
    add_routes,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import Caller
from chassis.http.conditional import entity_tag
from chassis.http.conventions.pages import PageLimit
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.answers import LOCATION
from orchestrator.brands import (
    BrandSlug,
    Slug,
    UnknownBrandError,
    find_brand,
    seen_slug,
)
from orchestrator.moving import hold_unmoved
from orchestrator.schedule import store
from orchestrator.schedule.domain import ScheduleKind
from orchestrator.schedule.making import (
    InactiveScheduleError,
    PastScheduleError,
    ScheduleConflictError,
    TooManySchedulesError,
    pause,
    put,
    resume,
    run_now,
)
from orchestrator.schedule.models import (
    FiringList,
    FiringView,
    ScheduleList,
    ScheduleListItem,
    ScheduleRequest,
    ScheduleView,
)
from orchestrator.schedule.store import Schedule

LARGER_BODIES: Final = {"/v1/brands/{slug}/schedules/{name}": 2_500_000}
"""1,000 keywords of 200 characters, each written as two JSON escapes, come to 2.4 MB."""
PAGE: Final = 50

Name = Annotated[
    str,
    Path(
        description="Lower-case letters and digits, joined by single hyphens.",
        examples=["weekly-basics"],
        pattern=SLUG_PATTERN,
        max_length=MAX_BRAND_SLUG,
    ),
]
After = Annotated[
    str | None,
    Query(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG, description="`next` of the page before."),
]


def schedule_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _making(database), _running(database), _watching(database))
    return routes


def _making(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/schedules", tags=["schedules"])

    @routes.put(
        "/{name}",
        summary="Make or replace a schedule",
        responses={
            200: {"headers": ETAG, "description": "The schedule existed and is now as given."},
            201: {"model": ScheduleView, "headers": LOCATION | ETAG, "description": "The schedule is new."},
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The brand has as many schedules as one may have."),
        },
    )
    async def set_schedule(
        caller: MaySubmit, slug: Slug, name: Name, request: ScheduleRequest, response: Response
    ) -> ScheduleView:
        """Creates or changes a schedule. The same request again changes nothing; a changed plan holds from now on.

        A list with `take` continues at its position if it starts with the keywords already submitted.
        """
        try:
            async with database.transaction() as tx:
                brand = await _brand(tx.connection, slug, caller)
                await hold_unmoved(tx.connection, brand)
                schedule, is_new = await put(tx.connection, brand, name, request)
        except (ScheduleConflictError, PastScheduleError) as error:
            raise RefusalError(codes.INVALID_SCHEDULE, str(error)) from error
        except TooManySchedulesError as error:
            raise RefusalError(codes.TOO_MANY_SCHEDULES, str(error)) from error
        if is_new:
            response.status_code = HTTPStatus.CREATED
            response.headers["Location"] = f"/v1/brands/{slug}/schedules/{name}"
        view = ScheduleView.of(schedule)
        response.headers["ETag"] = entity_tag(view.model_dump_json())
        return view

    @routes.delete(
        "/{name}",
        summary="Remove a schedule",
        status_code=HTTPStatus.NO_CONTENT,
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "It is the weekly audit, which stays.")},
    )
    async def delete_schedule(caller: MaySubmit, slug: Slug, name: Name) -> None:
        """Deletes the schedule; its running cycles continue. Deleting an unknown schedule is no error."""
        async with database.transaction() as tx:
            brand = await _brand(tx.connection, slug, caller)
            await hold_unmoved(tx.connection, brand)
            schedule = await store.lock(tx.connection, brand, name)
            if schedule is not None and schedule.kind is ScheduleKind.AUDIT:
                raise RefusalError(
                    codes.SCHEDULE_NOT_REMOVABLE,
                    f"'{name}' cannot be removed; pause it with POST /v1/brands/{slug}/schedules/{name}/pause",
                )
            await store.delete(tx.connection, brand, name)

    return routes


def _running(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/schedules", tags=["schedules"])

    @routes.post("/{name}/pause", summary="Pause a schedule", responses=UNKNOWN)
    async def pause_schedule(caller: MaySubmit, slug: Slug, name: Name) -> ScheduleView:
        """Stops its firings until it is resumed. An ended schedule stays as it is."""
        async with database.transaction() as tx:
            return ScheduleView.of(
                await pause(tx.connection, await _locked(tx.connection, slug, name, caller))
            )

    @routes.post("/{name}/resume", summary="Resume a schedule", responses=UNKNOWN)
    async def resume_schedule(caller: MaySubmit, slug: Slug, name: Name) -> ScheduleView:
        """Resumes the schedule: a recurring one at its next time, an undone single one now."""
        async with database.transaction() as tx:
            return ScheduleView.of(
                await resume(tx.connection, await _locked(tx.connection, slug, name, caller))
            )

    @routes.post(
        "/{name}/run",
        summary="Have a schedule fire now",
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "It is paused, given up or ended.")},
    )
    async def run_schedule(caller: MaySubmit, slug: Slug, name: Name) -> ScheduleView:
        """Makes it due now, besides its times; a single one fires now instead. It waits for the end of quiet hours and of a pause of the brand."""
        try:
            async with database.transaction() as tx:
                return ScheduleView.of(
                    await run_now(tx.connection, await _locked(tx.connection, slug, name, caller))
                )
        except InactiveScheduleError as error:
            raise RefusalError(codes.SCHEDULE_NOT_ACTIVE, str(error)) from error

    return routes


def _watching(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/schedules", tags=["schedules"])

    @routes.get("", summary="List schedules", response_model=ScheduleList, responses={**READ, **UNKNOWN})
    async def list_schedules(
        caller: MayRead,
        slug: Slug,
        after: After = None,
        limit: PageLimit = PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """All schedules of a brand, by name."""
        async with database.connection() as connection:
            brand = await _brand(connection, slug, caller)
            found = await store.schedules_of(connection, brand, after=after or "", limit=limit + 1)
        page = found[:limit]
        answer = ScheduleList(
            items=tuple(ScheduleListItem.of(each) for each in page),
            next=page[-1].name if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get(
        "/{name}", summary="Read a schedule", response_model=ScheduleView, responses={**READ, **UNKNOWN}
    )
    async def get_schedule(
        caller: MayRead, slug: Slug, name: Name, if_none_match: IfNoneMatch = None
    ) -> Response:
        schedule = await _known(database, slug, name, caller)
        return conditional(ScheduleView.of(schedule).model_dump_json(), if_none_match)

    @routes.get(
        "/{name}/firings",
        summary="Outcomes of a schedule's due times",
        response_model=FiringList,
        responses={**READ, **UNKNOWN},
    )
    async def list_schedule_firings(
        caller: MayRead,
        slug: Slug,
        name: Name,
        after: Annotated[Moment | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Firings of a schedule, latest first."""
        schedule = await _known(database, slug, name, caller)
        async with database.connection() as connection:
            found = await store.firings_of(connection, schedule.schedule_id, before=after, limit=limit + 1)
        page = found[:limit]
        answer = FiringList(
            items=tuple(FiringView.from_row(each) for each in page),
            next=page[-1].due_at if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    return routes


async def _brand(connection: Connection, slug: str, caller: Caller) -> BrandSlug:
    brand = seen_slug(slug, caller)
    if await find_brand(connection, brand) is None:
        raise UnknownBrandError(slug)
    return brand


async def _locked(connection: Connection, slug: str, name: str, caller: Caller) -> Schedule:
    brand = await _brand(connection, slug, caller)
    await hold_unmoved(connection, brand)
    schedule = await store.lock(connection, brand, name)
    if schedule is None:
        raise _unknown(slug, name)
    return schedule


async def _known(database: Database, slug: str, name: str, caller: Caller) -> Schedule:
    async with database.connection() as connection:
        schedule = await store.find(connection, await _brand(connection, slug, caller), name)
    if schedule is None:
        raise _unknown(slug, name)
    return schedule


def _unknown(slug: str, name: str) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_SCHEDULE,
        f"'{slug}' has no schedule '{name}'; make it with PUT /v1/brands/{slug}/schedules/{name}",
    )
