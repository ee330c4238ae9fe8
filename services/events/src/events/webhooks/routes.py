"""Routes of webhooks: set one up, try it, look at its deliveries, and send events again."""

import json
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from envelope import new_event_id
from envelope.brand.payloads import BrandSlug
from events import problem_codes as codes
from events.erased import ERASURES
from events.log import store as log_store
from events.places import STORABLE, check_types
from events.subscriptions import store as subscriptions
from events.subscriptions.routes import StartPosition
from events.webhooks import store
from events.webhooks.domain import MOST_TRIES, TryOutcome, Webhook, WebhookState
from events.webhooks.gateway import (
    SendingPostponedError,
    SendingRefusedError,
    SignedRequest,
    UnusableAccountError,
    WebhookGateway,
)
from events.webhooks.models import (
    EnableWebhook,
    ResendAnswer,
    ResendRequest,
    WebhookDelivery,
    WebhookDeliveryDetails,
    WebhookDeliveryPage,
    WebhookDetails,
    WebhookForm,
    WebhookList,
    WebhookOrder,
    WebhookPage,
    WebhookTest,
    WebhookView,
)
from messaging import Database

MOST_WEBHOOKS: Final = 20
"""Of a brand."""
Slug = Annotated[BrandSlug, Path(description="The brand.")]
Name = Annotated[
    str,
    Path(description="Name of the webhook.", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63),
]


def webhook_routes(database: Database, gateway: WebhookGateway | None) -> list[APIRouter]:
    return [_all(database), _managing(database, gateway), _testing(database, gateway), _delivered(database)]


def _all(database: Database) -> APIRouter:
    routes = router("/webhooks", tags=["webhooks"])

    @routes.get("", summary="Webhooks of all brands")
    async def list_all_webhooks(
        caller: MayRead,
        state: Annotated[WebhookState | None, Query(description="Only those in this state.")] = None,
        after: Annotated[str | None, Query(description=AFTER, max_length=130, pattern=STORABLE)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> WebhookPage:
        """A key that is bound to brands sees theirs."""
        async with database.connection() as connection:
            found = await store.page(
                connection, caller.visible_brands(), state=state, after=after, limit=limit + 1
            )
        return WebhookPage(
            items=[WebhookView.of(each) for each in found[:limit]],
            next=found[limit - 1].subscription if len(found) > limit else None,
        )

    return routes


def _managing(database: Database, gateway: WebhookGateway | None) -> APIRouter:
    routes = router("/brands/{slug}/webhooks", tags=["webhooks"])

    @routes.get("", summary="Webhooks of a brand", responses=UNKNOWN)
    async def list_webhooks(caller: MayRead, slug: Slug) -> WebhookList:
        caller.check_visible(slug)
        async with database.connection() as connection:
            found = await store.page(connection, [slug], after=None, limit=MOST_WEBHOOKS)
        return WebhookList(items=[WebhookView.of(each) for each in found])

    @routes.get("/{name}", summary="A webhook and what it has before it", responses=UNKNOWN)
    async def get_webhook(caller: MayRead, slug: Slug, name: Name) -> WebhookDetails:
        async with database.connection() as connection:
            webhook = await _find(connection, slug, name, caller)
            subscription = await subscriptions.find(connection, webhook.subscription)
            if subscription is None:
                raise _unknown(slug, name)
            return WebhookDetails.with_backlog(
                webhook, await subscriptions.read_backlog(connection, subscription)
            )

    @routes.put(
        "/{name}",
        summary="Make or change a webhook",
        responses={
            200: {"description": "The webhook existed and is now as given."},
            201: {"model": WebhookView, "description": "The webhook is new."},
            **UNKNOWN,
        },
    )
    async def set_webhook(
        caller: MayOperate, slug: Slug, name: Name, form: WebhookForm, response: Response
    ) -> WebhookView:
        """Sends each event of the brand to the account's receiver, as a CloudEvent, signed by Standard Webhooks.

        A change applies to what is sent from then on; what waits already keeps waiting. The same request again changes nothing.
        """
        caller.check_visible(slug)
        check_types(form.types or [])
        await _check_account(gateway, form.account, slug)
        async with database.transaction() as tx:
            # If the brand is erased at the same time, the webhook is stored before that, and erased, or after it.
            await ERASURES.block_erasures(tx.connection)
            if await _put(tx.connection, slug, name, form, caller):
                response.status_code = HTTPStatus.CREATED
            return WebhookView.of(await _find(tx.connection, slug, name, caller))

    @routes.delete("/{name}", status_code=204, summary="Remove a webhook", responses=UNKNOWN)
    async def delete_webhook(caller: MayOperate, slug: Slug, name: Name) -> None:
        """Removes it with the log of its deliveries. The account stays connected."""
        async with database.transaction() as tx:
            webhook = await _find(tx.connection, slug, name, caller, lock=True)
            await store.remove(tx.connection, webhook.subscription)

    @routes.post("/{name}/enable", summary="Turn a webhook on", responses=UNKNOWN)
    async def enable_webhook(
        caller: MayOperate, slug: Slug, name: Name, request: EnableWebhook | None = None
    ) -> WebhookView:
        """Sends what happened meanwhile, the oldest first, unless `skip_missed` is set."""
        async with database.connection() as connection:
            account = (await _find(connection, slug, name, caller)).account
        await _check_account(gateway, account, slug)
        async with database.transaction() as tx:
            webhook = await _find(tx.connection, slug, name, caller, lock=True)
            if request is not None and request.skip_missed:
                await store.skip_waiting(tx.connection, webhook.subscription)
            await store.turn_on(tx.connection, webhook.subscription)
            return WebhookView.of(await _find(tx.connection, slug, name, caller))

    @routes.post("/{name}/disable", summary="Turn a webhook off", responses=UNKNOWN)
    async def disable_webhook(caller: MayOperate, slug: Slug, name: Name) -> WebhookView:
        """Sends nothing more; events wait for 30 days. What is under way still arrives."""
        async with database.transaction() as tx:
            webhook = await _find(tx.connection, slug, name, caller, lock=True)
            await store.turn_off(tx.connection, webhook.subscription, WebhookState.OFF, None)
            return WebhookView.of(await _find(tx.connection, slug, name, caller))

    return routes


def _testing(database: Database, gateway: WebhookGateway | None) -> APIRouter:
    routes = router("/brands/{slug}/webhooks", tags=["webhooks"])

    @routes.post("/{name}/test", summary="Send a test event now", responses=UNKNOWN)
    async def test_webhook(caller: MayOperate, slug: Slug, name: Name) -> WebhookTest:
        """Sends an event of the type `webhook.test` once, also if the webhook is off, and returns what the receiver answered."""
        async with database.connection() as connection:
            webhook = await _find(connection, slug, name, caller)
        if gateway is None:
            raise _no_gateway()
        event_id = new_event_id()
        event = {
            "specversion": "1.0",
            "id": str(event_id),
            "source": "events",
            "type": "webhook.test",
            "time": datetime.now(UTC).isoformat(),
            "datacontenttype": "application/json",
            "brand": slug,
            "data": {"brand_slug": slug, "webhook": name},
        }
        began = monotonic()
        try:
            answer = await gateway.send(SignedRequest(webhook.account, slug, event_id, json.dumps(event)))
        except SendingRefusedError as error:
            raise RefusalError(codes.UNUSABLE_WEBHOOK_ACCOUNT, str(error)) from error
        except SendingPostponedError as error:
            raise _not_checked(error) from error
        return WebhookTest.with_answer(answer, round((monotonic() - began) * 1000), event)

    return routes


def _delivered(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/webhooks", tags=["webhooks"])

    @routes.get("/{name}/deliveries", summary="What was sent, and what came back", responses=UNKNOWN)
    async def list_webhook_deliveries(
        caller: MayRead,
        slug: Slug,
        name: Name,
        outcome: Annotated[TryOutcome | None, Query(description="Only tries that ended so.")] = None,
        event_id: Annotated[UUID | None, Query(description="Only tries of this event.")] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> WebhookDeliveryPage:
        """Each try of the last 30 days."""
        async with database.connection() as connection:
            webhook = await _find(connection, slug, name, caller)
            found = await store.tries_page(
                connection,
                webhook.subscription,
                outcome=outcome,
                event_id=event_id,
                after=after,
                limit=limit + 1,
            )
        items = [WebhookDelivery.of(each) for each in found[:limit]]
        return WebhookDeliveryPage(items=items, next=items[-1].id if len(found) > limit else None)

    @routes.get("/{name}/deliveries/{delivery_id}", summary="A try, with the event", responses=UNKNOWN)
    async def get_webhook_delivery(
        caller: MayRead, slug: Slug, name: Name, delivery_id: UUID
    ) -> WebhookDeliveryDetails:
        async with database.connection() as connection:
            webhook = await _find(connection, slug, name, caller)
            found = await store.find_try(connection, webhook.subscription, delivery_id)
            if found is None:
                raise RefusalError(
                    codes.UNKNOWN_WEBHOOK_DELIVERY,
                    f"the webhook '{name}' has no delivery {delivery_id}; they are kept for 30 days",
                )
            events = await log_store.fetch(connection, [found.position])
        event = events[0] if events else None
        return WebhookDeliveryDetails.with_event(found, event)

    @routes.post(
        "/{name}/resend",
        summary="Send events again",
        responses={
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "Events since another time are being sent again."),
        },
    )
    async def send_events_again(
        caller: MayOperate, slug: Slug, name: Name, request: ResendRequest
    ) -> ResendAnswer:
        """Sends events of this webhook again, with their former `webhook-id`: a receiver that drops duplicates must forget it first.

        With `since`, it goes on in the background, and the same request meanwhile changes nothing. Events that wait already are not
        doubled. If the webhook is off, they are sent once it is on.
        """
        async with database.transaction() as tx:
            webhook = await _find(tx.connection, slug, name, caller, lock=True)
            subscription = await subscriptions.find(tx.connection, webhook.subscription)
            if subscription is None:
                raise _unknown(slug, name)
            number = 0
            if request.places is not None:
                found = await log_store.fetch(tx.connection, request.places)
                places = [
                    each.position
                    for each in found
                    # What follows was not sent yet, and comes anyway.
                    if each.position <= subscription.position and subscription.wanted.matches(each)
                ]
                number = await store.resend(tx.connection, webhook.subscription, places)
            elif request.since is not None:
                after = await log_store.position_at(tx.connection, request.since)
                await _begin_resend(tx.connection, webhook, min(after, subscription.position))
            else:
                number = await subscriptions.revive(tx.connection, webhook.subscription, None)
            now = await _find(tx.connection, slug, name, caller)
        return ResendAnswer(resent=number, resending=now.is_resending)

    return routes


async def _begin_resend(connection: Connection, webhook: Webhook, after: int) -> None:
    if await store.begin_resend(connection, webhook.subscription, after):
        return
    if await store.resend_began_at(connection, webhook.subscription) != after:
        raise RefusalError(
            codes.RESEND_UNDER_WAY,
            f"since: the webhook '{webhook.name}' is sending past events again; try again when it has ended",
        )


async def _put(connection: Connection, slug: str, name: str, form: WebhookForm, caller: Caller) -> bool:
    """Stores the webhook; returns whether it is new."""
    types = None if form.types is None else sorted(set(form.types))
    strict = form.order is WebhookOrder.STRICT
    subscription = store.subscription_of(slug, name)
    await store.block_others(connection, slug)
    if await store.find(connection, slug, name, lock=True) is not None:
        await store.change(connection, subscription, form.account, types, strict=strict)
        return False
    if await store.count(connection, slug) >= MOST_WEBHOOKS:
        raise RefusalError(
            codes.TOO_MANY_WEBHOOKS, f"'{slug}' has {MOST_WEBHOOKS} webhooks, which is the limit; remove one"
        )
    head = await log_store.read_head(connection)
    await subscriptions.insert(
        connection,
        subscription,
        brands=[slug],
        types=types,
        max_deliveries=MOST_TRIES,
        position=head.position if form.begin is StartPosition.NOW else head.forgotten,
        by=caller.name,
    )
    await store.insert(connection, slug, name, form.account, strict=strict)
    return True


async def _check_account(gateway: WebhookGateway | None, account: str, brand: str) -> None:
    """Raises RefusalError if a webhook of the brand cannot send by the account."""
    if gateway is None:
        raise _no_gateway()
    try:
        await gateway.check_account(account, brand)
    except UnusableAccountError as error:
        raise RefusalError(codes.UNUSABLE_WEBHOOK_ACCOUNT, str(error)) from error
    except SendingPostponedError as error:
        raise _not_checked(error) from error


def _no_gateway() -> RefusalError:
    return RefusalError(
        codes.WEBHOOKS_NOT_CONFIGURED, "events has no gateway to send by: set GATEWAY_URL of events"
    )


def _not_checked(error: SendingPostponedError) -> RefusalError:
    return RefusalError(
        codes.WEBHOOK_ACCOUNT_NOT_CHECKED,
        f"nothing was changed or sent, try again: {error}",
        headers={"Retry-After": str(max(1, round(error.after.total_seconds())))},
    )


async def _find(
    connection: Connection, slug: str, name: str, caller: Caller, *, lock: bool = False
) -> Webhook:
    caller.check_visible(slug)
    found = await store.find(connection, slug, name, lock=lock)
    if found is None:
        raise _unknown(slug, name)
    return found


def _unknown(slug: str, name: str) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_WEBHOOK, f"'{slug}' has no webhook '{name}'; GET /v1/brands/{slug}/webhooks lists them"
    )
