"""HTTP routes for the slots of accounts and their queues."""

from http import HTTPStatus
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Path, Response

from chassis import Connection
from chassis.http.api import (
    ETAG,
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    MayReview,
    add_routes,
    conditional,
    refusal,
    router,
)
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from social import problem_codes as codes
from social.calendar import moving, store
from social.calendar.models import (
    NAME_PATTERN,
    PostCalendarEntryView,
    PostQueue,
    ReorderQueueRequest,
    SlotsList,
    SlotsRequest,
    SlotsView,
)
from social.calendar.routes import LATE
from social.calendar.store import StoredPostingRules
from social.channels import FEED

MOST_ACCOUNTS: Final = 100
"""Most accounts with slots of one brand."""
_UTC: Final = ZoneInfo("UTC")

Slug = Annotated[BrandSlug, Path(description="Of the brand.", examples=["daily-grind"])]
AccountName = Annotated[
    str,
    Path(
        description="Of the account at the gateway.",
        examples=["mastodon-eu"],
        pattern=NAME_PATTERN,
        max_length=63,
    ),
]


def slot_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _slots(database), _queue(database))
    return routes


def _slots(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/accounts", tags=["slots"])

    @routes.get("", summary="List slots", responses=READ, response_model=SlotsList)
    async def list_account_slots(caller: MayRead, slug: Slug, if_none_match: IfNoneMatch = None) -> Response:
        """The slots of all accounts of a brand."""
        brand = caller.check_visible(slug)
        async with database.connection() as connection:
            found = [await _shown(connection, each) for each in await store.rules_of(connection, brand)]
        return conditional(SlotsList(items=tuple(found)).model_dump_json(), if_none_match)

    @routes.get("/{account}/slots", summary="Read the slots of an account", responses=UNKNOWN)
    async def get_account_slots(caller: MayRead, slug: Slug, account: AccountName) -> SlotsView:
        """The slots, with the next free ones."""
        async with database.connection() as connection:
            return await _shown(connection, await _known(connection, caller.check_visible(slug), account))

    @routes.put(
        "/{account}/slots",
        summary="Set the slots of an account",
        responses={
            200: {"headers": ETAG, "description": "They are now as given."},
            201: {"model": SlotsView, "description": "The account had none."},
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "As many accounts of the brand have slots as may have."),
        },
    )
    async def set_account_slots(
        caller: MayOperate, slug: Slug, account: AccountName, request: SlotsRequest, response: Response
    ) -> SlotsView:
        """For new posts. Planned posts keep their times until the queue is reordered."""
        brand = caller.check_visible(slug)
        if account == FEED:
            raise RefusalError(
                codes.FEED_HAS_NO_SLOTS,
                "the built-in feed has no slots: what is to appear there later is approved for a time: brandctl posts approve ID --at TIME",
            )
        async with database.transaction() as tx:
            await store.lock_accounts(tx.connection, [account])
            now = await store.now(tx.connection)
            if request.slots and not request.rules().has_any(now):
                raise RefusalError(
                    codes.SLOTS_IN_QUIET_HOURS,
                    "slots: all of them lie within the quiet hours, so nothing would ever go out; change either",
                )
            if await store.put_rules(tx.connection, brand, account, request.model_dump()):
                if await store.count_rules(tx.connection, brand) > MOST_ACCOUNTS:
                    raise RefusalError(
                        codes.TOO_MANY_ACCOUNTS,
                        f"{MOST_ACCOUNTS} accounts of '{brand}' have slots, which is all; remove some",
                    )
                response.status_code = HTTPStatus.CREATED
            return await _shown(tx.connection, await _known(tx.connection, brand, account))

    @routes.delete(
        "/{account}/slots",
        summary="Remove the slots of an account",
        status_code=HTTPStatus.NO_CONTENT,
        responses=UNKNOWN,
    )
    async def delete_account_slots(caller: MayOperate, slug: Slug, account: AccountName) -> None:
        """New posts then go out at once; planned ones keep their times. Without slots, the request succeeds, too."""
        brand = caller.check_visible(slug)
        async with database.transaction() as tx:
            await store.lock_accounts(tx.connection, [account])
            await store.delete_rules(tx.connection, brand, account)

    return routes


def _queue(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/accounts", tags=["slots"])

    @routes.get("/{account}/queue", summary="Read the queue of an account", responses=UNKNOWN)
    async def get_account_queue(caller: MayRead, slug: Slug, account: AccountName) -> PostQueue:
        """The brand's posts with a slot of the account, in order."""
        brand = caller.check_visible(slug)
        async with database.connection() as connection:
            found = await moving.queue_of(connection, brand, account)
        return PostQueue(items=tuple(PostCalendarEntryView.of(each, _UTC) for each in found))

    @routes.put("/{account}/queue", summary="Reorder the queue of an account", responses={**UNKNOWN, **LATE})
    async def set_account_queue(
        caller: MayReview, slug: Slug, account: AccountName, request: ReorderQueueRequest
    ) -> PostQueue:
        """Assigns the slots anew in this order; an empty list closes gaps, and applies changed slots."""
        found = await moving.reorder(database, caller.check_visible(slug), account, request.post_ids, caller)
        return PostQueue(items=tuple(PostCalendarEntryView.of(each, _UTC) for each in found))

    return routes


async def _known(connection: Connection, brand: str, account: str) -> StoredPostingRules:
    stored = await store.find_rules(connection, brand, account)
    if stored is None:
        raise RefusalError(
            codes.NO_SLOTS,
            f"'{account}' has no slots for '{brand}'; set them with PUT /v1/brands/{brand}/accounts/{account}/slots",
        )
    return stored


async def _shown(connection: Connection, stored: StoredPostingRules) -> SlotsView:
    now = await store.now(connection)
    taken = await store.taken_times(connection, stored.account, now)
    queued = await store.count_queue(connection, stored.brand_slug, stored.account)
    return SlotsView.of(stored, taken, queued, now)
