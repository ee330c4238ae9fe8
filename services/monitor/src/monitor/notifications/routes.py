"""HTTP routes for notification routes, notifications and messages."""

from collections.abc import Collection
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, needs, router
from chassis.http.callers import Scope
from chassis.http.client import PassingError, UnusableAnswerError
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, FORMER_AFTER, PageLimit
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from monitor import problem_codes as codes
from monitor.erased import ERASURES
from monitor.notifications import message_store, store
from monitor.notifications.channels import CHANNELS
from monitor.notifications.domain import NotificationKind, NotificationRoute
from monitor.notifications.gateway import NotifierGateway
from monitor.notifications.models import (
    AcknowledgeRequest,
    MessagePage,
    MessageView,
    NotificationPage,
    NotificationView,
    RouteList,
    RouteName,
    RouteRequest,
    RouteView,
)
from monitor.notifications.notifier import Notifier

MOST_ROUTES: Final = 200
_NO_GATEWAY: Final = "this monitor has no gateway to send messages: set GATEWAY_URL"
Name = Annotated[RouteName, Path()]
After = Annotated[UUID | None, Query(description=AFTER)]
FormerAfter = Annotated[UUID | None, Query(description=FORMER_AFTER, deprecated=True)]


def notification_routes(
    database: Database, gateway: NotifierGateway | None, notifier: Notifier | None
) -> list[APIRouter]:
    return [_routing(database, gateway), _testing(database, notifier), _log(database), _noticed(database)]


def _routing(database: Database, gateway: NotifierGateway | None) -> APIRouter:
    """Routes about notification routes.

    What changes one takes access to all brands: brands share the names of notification routes, and accounts are visible.
    """
    routes = router("/notifications/routes", tags=["notifications"])

    @routes.get("", summary="List notification routes")
    async def list_notification_routes(caller: MayRead) -> RouteList:
        async with database.connection() as connection:
            found = await store.fetch_routes(connection, brands=caller.brands)
        return RouteList(items=[RouteView.of(each) for each in found])

    @routes.get("/{name}", summary="Read a notification route", responses=UNKNOWN)
    async def get_notification_route(caller: MayRead, name: Name) -> RouteView:
        return await _route(database, name, caller.brands)

    @routes.put(
        "/{name}",
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
        summary="Create or replace a notification route",
        responses={
            200: {"description": "The route existed and now has these settings."},
            201: {"model": RouteView, "description": "The route is new."},
        },
    )
    async def set_notification_route(name: Name, request: RouteRequest, response: Response) -> RouteView:
        """The account must be connected and allow the brand. The same request again changes nothing."""
        if gateway is None:
            raise RefusalError(codes.GATEWAY_NOT_CONFIGURED, _NO_GATEWAY)
        route = request.route(name)
        await _check_account(gateway, route)
        due = None if route.summary is None else route.summary.next_after(datetime.now(UTC))
        async with database.transaction() as tx:
            # If the brand is erased at the same time, the route is written before the erasure, which deletes it, or after it.
            await ERASURES.block_erasures(tx.connection)
            await _check_number(tx.connection, name)
            if await store.put_route(tx.connection, route, due):
                response.status_code = HTTPStatus.CREATED
        return await _route(database, name)

    @routes.delete(
        "/{name}",
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Delete a notification route",
        responses=UNKNOWN,
    )
    async def delete_notification_route(name: Name) -> None:
        async with database.transaction() as tx:
            if not await store.delete_route(tx.connection, name):
                raise _unknown_route(name)

    return routes


def _testing(database: Database, notifier: Notifier | None) -> APIRouter:
    routes = router("/notifications/routes", tags=["notifications"])

    @routes.post(
        "/{name}/test",
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
        summary="Send a test message now",
        responses=UNKNOWN,
    )
    async def test_notification_route(name: Name) -> MessageView:
        """Sends in quiet hours, too; the answer says whether it arrived. If so, a failing route works again."""
        if notifier is None:
            raise RefusalError(codes.GATEWAY_NOT_CONFIGURED, _NO_GATEWAY)
        async with database.connection() as connection:
            found = await store.fetch_routes(connection, name)
        if not found:
            raise _unknown_route(name)
        sent = await notifier.send_test(found[0]["set"])
        async with database.connection() as connection:
            message = await message_store.fetch_message(connection, sent)
        if message is None:
            raise _unknown_route(name)
        return MessageView.of(message)

    return routes


def _log(database: Database) -> APIRouter:
    routes = router("/notifications/messages", tags=["notifications"])

    @routes.get("", summary="List messages, newest first")
    async def list_notification_messages(
        caller: MayRead,
        route: RouteName | None = None,
        state: Literal["waiting", "sending", "sent", "failed"] | None = None,
        after: After = None,
        limit: PageLimit = DEFAULT_PAGE,
        before: FormerAfter = None,
    ) -> MessagePage:
        """Messages of the last 90 days."""
        async with database.connection() as connection:
            found = await message_store.fetch_messages(
                connection,
                route=route,
                state=state,
                before=after or before,
                limit=limit + 1,
                brands=caller.brands,
            )
        items = [MessageView.of(each) for each in found[:limit]]
        return MessagePage(items=items, next=items[-1].id if len(found) > limit else None)

    return routes


def _noticed(database: Database) -> APIRouter:
    routes = router("/notifications", tags=["notifications"])

    @routes.get("", summary="List notifications, newest first")
    async def list_notifications(
        caller: MayRead,
        open: Annotated[  # noqa: A002 - the wire name
            bool | None, Query(description="`true`: open ones; `false`: resolved ones; omitted: all.")
        ] = None,
        kind: NotificationKind | None = None,
        brand: BrandSlug | None = None,
        after: After = None,
        limit: PageLimit = DEFAULT_PAGE,
        before: FormerAfter = None,
    ) -> NotificationPage:
        """Resolved ones are kept for 90 days. A caller with access to some brands sees their notifications and routes only."""
        async with database.connection() as connection:
            found = await store.fetch_page(
                connection,
                is_open=open,
                kind=kind,
                brand=brand,
                before=after or before,
                limit=limit + 1,
                brands=caller.brands,
            )
        items = [NotificationView.of(each) for each in found[:limit]]
        return NotificationPage(items=items, next=items[-1].id if len(found) > limit else None)

    @routes.post(
        "/{notification_id}/acknowledge",
        summary="Acknowledge a notification",
        responses=UNKNOWN,
    )
    async def acknowledge_notification(
        caller: MayOperate, notification_id: UUID, request: AcknowledgeRequest | None = None
    ) -> NotificationView:
        """Routes send no more about it until it is resolved. The same request again changes nothing."""
        by = caller.name if request is None or request.by is None else request.by
        async with database.transaction() as tx:
            known = await store.acknowledge(tx.connection, notification_id, by, caller.brands)
            row = await store.fetch_notification(tx.connection, notification_id)
        if not known or row is None:
            raise RefusalError(
                codes.UNKNOWN_NOTIFICATION,
                f"there is no notification {notification_id}; GET /v1/notifications lists their ids",
            )
        return NotificationView.of(row)

    return routes


async def _route(database: Database, name: str, brands: Collection[str] | None = None) -> RouteView:
    async with database.connection() as connection:
        found = await store.fetch_routes(connection, name, brands)
    if not found:
        raise _unknown_route(name)
    return RouteView.of(found[0])


async def _check_number(connection: Connection, name: str) -> None:
    """Refuses a further route above the limit, since each one costs work on every poll."""
    known = {each["name"] for each in await store.fetch_routes(connection)}
    if name not in known and len(known) >= MOST_ROUTES:
        raise RefusalError(
            codes.TOO_MANY_NOTIFICATION_ROUTES,
            f"there are {MOST_ROUTES} routes, which is the limit; remove one",
        )


async def _check_account(gateway: NotifierGateway, route: NotificationRoute) -> None:
    """Raises RefusalError if the route cannot send through its account."""

    def refuse(why: str) -> RefusalError:
        return RefusalError(codes.UNUSABLE_ACCOUNT, why)

    try:
        accounts = await gateway.accounts()
    except (PassingError, UnusableAnswerError) as error:
        raise RefusalError(
            codes.ACCOUNT_NOT_CHECKED, f"the account could not be checked, try again: {error}"
        ) from error
    account = accounts.get(route.account)
    if account is None:
        raise refuse(
            f"account: no account {route.account} is connected; brandctl accounts list shows which are"
        )
    channel = CHANNELS.get(account.kind)
    if channel is None:
        kinds = ", ".join(sorted(CHANNELS))
        raise refuse(
            f"account: {route.account} is a {account.kind} account; notifications go out through {kinds}"
        )
    if not account.may_be_used_by(route.brand):
        whose = "operators" if route.brand is None else f"brand {route.brand}"
        raise refuse(
            f"account: {route.account} is not for {whose}; connect it for them, or for all brands (*)"
        )
    if not channel.address and route.addresses:
        raise refuse(f"to: a {account.kind} account knows where its messages go; leave it out")
    if account.chats:
        # A bot writes to the chats of its account only; the first is the default.
        if len(route.addresses) > 1 or not set(route.addresses) <= set(account.chats):
            raise refuse(
                f"to: {route.account} writes to one of {', '.join(account.chats)}; left out: to the first"
            )
    elif channel.address and not 1 <= len(route.addresses) <= channel.most_addresses:
        raise refuse(
            f"to: for a {account.kind} account, name {channel.address}, at most {channel.most_addresses}"
        )


def _unknown_route(name: str) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_NOTIFICATION_ROUTE, f"there is no route {name}; GET /v1/notifications/routes lists them"
    )
