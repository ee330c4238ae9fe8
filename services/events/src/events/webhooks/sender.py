"""Sends events to webhooks: each process takes those whose turn it is, and works on several at once.

A webhook is leased to one process at a time, and so is each event; a process that dies loses nothing, as both leases end.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from chassis.database.pool import DatabaseUnavailableError
from chassis.tasks import cancel_all
from envelope import new_event_id
from events.cloud_events import as_json
from events.subscriptions import store as subscriptions
from events.subscriptions.store import Delivery
from events.webhooks import store
from events.webhooks.domain import (
    ReceiverAnswer,
    TryOutcome,
    Webhook,
    WebhookState,
    WebhookTry,
    is_to_be_off,
    pause_after,
    pause_of_webhook,
)
from events.webhooks.gateway import (
    SendingPostponedError,
    SendingRefusedError,
    SignedRequest,
    WebhookGateway,
)
from messaging import Database

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(seconds=1)
"""Between two looks for events that are to be sent."""
LEASE: Final = timedelta(seconds=90)
"""Longer than one request takes, with the gateway's queue."""
_WEBHOOKS_AT_ONCE: Final = 16
_EVENTS_AT_ONCE: Final = 4
"""Requests to one receiver at once; as many as the gateway sends by default."""
_TURN_SECONDS: Final = 30.0
"""A webhook with much to send gives way to others after this."""
_MOST_WAITING: Final = 1_000
"""Events that are sent again are added to those that wait up to this number."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """What came of one request; None instead of an answer: nothing was sent, and `error` says why."""

    delivery: Delivery
    answer: ReceiverAnswer | None
    error: SendingPostponedError | SendingRefusedError | None
    duration_ms: int


class WebhookSender:
    """The webhooks that this process works on.

    Args:
        database: of the service.
        gateway: signs and sends.
    """

    def __init__(self, database: Database, gateway: WebhookGateway) -> None:
        self._database = database
        self._gateway = gateway
        self._working: dict[str, asyncio.Task[None]] = {}
        """Tasks by subscription."""
        self._is_stopping = False

    async def finish(self, within: float) -> None:
        """Takes no further events, and waits up to `within` seconds for requests under way."""
        self._is_stopping = True
        if self._working:
            await asyncio.wait(self._working.values(), timeout=within)
        await cancel_all(self._working.values())

    async def aclose(self) -> None:
        await cancel_all(self._working.values())
        await self._gateway.aclose()

    async def tick(self) -> None:
        """Starts to work on webhooks that have something to send."""
        while len(self._working) < _WEBHOOKS_AT_ONCE and not self._is_stopping:
            lease_id = new_event_id()
            async with self._database.transaction() as tx:
                webhook = await store.claim(tx.connection, lease_id, LEASE, busy=list(self._working))
            if webhook is None:
                return
            self._working[webhook.subscription] = task = asyncio.create_task(
                self._work_or_log(webhook, lease_id), name=f"webhook {webhook.subscription}"
            )
            task.add_done_callback(partial(self._forget_task, webhook.subscription))

    def _forget_task(self, subscription: str, _: object) -> None:
        del self._working[subscription]

    async def _work_or_log(self, webhook: Webhook, lease_id: UUID) -> None:
        """Works on a webhook and logs errors; after an error the leases end, and a process tries again."""
        try:
            await self._work(webhook, lease_id)
        except DatabaseUnavailableError as error:
            log.warning("webhook_outcome_unknown", webhook=webhook.subscription, problem=str(error))
        except Exception:
            log.exception("webhook_failed", webhook=webhook.subscription)

    async def _work(self, webhook: Webhook, lease_id: UUID) -> None:
        ends = monotonic() + _TURN_SECONDS
        while not self._is_stopping and monotonic() < ends:
            webhook, deliveries = await self._take(webhook, lease_id)
            if not deliveries:
                break
            sent = await asyncio.gather(*(self._send(webhook, each) for each in deliveries))
            async with self._database.transaction() as tx:
                if await store.lock(tx.connection, webhook.subscription):
                    await _store_outcomes(tx.connection, webhook, sent)
        async with self._database.transaction() as tx:
            await store.release(tx.connection, webhook, lease_id)

    async def _take(self, webhook: Webhook, lease_id: UUID) -> tuple[Webhook, Sequence[Delivery]]:
        """The webhook as it is now, and what to send next: nothing if it is off, or leased to another process."""
        async with self._database.transaction() as tx:
            now = await store.renew(tx.connection, webhook, lease_id, LEASE)
            subscription = await subscriptions.find(tx.connection, webhook.subscription, lock=True)
            if now is None or subscription is None:
                return webhook, ()
            if now.is_resending:
                room = _MOST_WAITING - await store.waiting(tx.connection, now.subscription, _MOST_WAITING)
                await store.continue_resend(tx.connection, now, room)
            if now.strict and await store.rest_until_first(tx.connection, now.subscription):
                return now, ()
            limit = 1 if now.strict else _EVENTS_AT_ONCE
            return now, await subscriptions.pull(tx.connection, subscription, limit=limit, lease=LEASE)

    async def _send(self, webhook: Webhook, delivery: Delivery) -> _Sent:
        began = monotonic()
        answer: ReceiverAnswer | None = None
        error: SendingPostponedError | SendingRefusedError | None = None
        event = delivery.event
        try:
            answer = await self._gateway.send(
                SignedRequest(webhook.account, webhook.brand, event.event_id, as_json(event))
            )
        except (SendingPostponedError, SendingRefusedError) as problem:
            error = problem
        return _Sent(delivery, answer, error, round((monotonic() - began) * 1000))


async def _store_outcomes(connection: Connection, webhook: Webhook, sent: Sequence[_Sent]) -> None:
    """Stores what came of each request. The caller has locked the webhook."""
    name = webhook.subscription
    tries: list[WebhookTry] = []
    problems: list[str] = []
    delivered = [each for each in sent if each.answer is not None and each.answer.problem is None]
    if delivered:
        await subscriptions.acknowledge(connection, name, [each.delivery.lease_id for each in delivered])
        await store.note_delivery(connection, name)
        tries += [_tried(each, TryOutcome.DELIVERED) for each in delivered]
    for each in sent:
        match each.error:
            case SendingPostponedError() as error:
                await store.take_back(connection, name, each.delivery.lease_id, error.after)
                await store.note_problem(connection, name, str(error))
                await store.rest(connection, name, error.after)
            case SendingRefusedError() as error:
                await store.take_back(connection, name, each.delivery.lease_id, timedelta())
                await store.turn_off(connection, name, WebhookState.FAILED, str(error))
                tries.append(_tried(each, TryOutcome.FAILED))
                log.warning("webhook_turned_off", webhook=name, problem=str(error))
            case None if each.answer is not None and each.answer.problem is not None:
                tries.append(await _store_failure(connection, name, each, each.answer))
                problems.append(each.answer.problem)
    if problems and not delivered:
        await _store_failed_round(connection, webhook, problems[-1])
    await store.insert_tries(connection, name, tries)


async def _store_failure(
    connection: Connection, name: str, sent: _Sent, answer: ReceiverAnswer
) -> WebhookTry:
    delivery = sent.delivery
    pause = pause_after(delivery.number, answer.retry_after, random.random())  # noqa: S311  (no secret)
    if pause is None:
        await store.give_up(connection, name, delivery.lease_id)
        return _tried(sent, TryOutcome.GIVEN_UP)
    await subscriptions.give_back(connection, name, {delivery.lease_id: pause})
    return _tried(sent, TryOutcome.FAILED)


async def _store_failed_round(connection: Connection, webhook: Webhook, problem: str) -> None:
    noted = await store.note_failure(connection, webhook.subscription, problem)
    if noted is None:
        return
    failures, since, now = noted
    if is_to_be_off(failures, since, now):
        why = f"nothing was delivered since {since:%Y-%m-%d %H:%M} UTC; the last problem: {problem}"
        await store.turn_off(connection, webhook.subscription, WebhookState.FAILED, why)
        log.warning("webhook_turned_off", webhook=webhook.subscription, problem=why)
    elif not webhook.strict and (pause := pause_of_webhook(failures)):
        await store.rest(connection, webhook.subscription, pause)


def _tried(sent: _Sent, outcome: TryOutcome) -> WebhookTry:
    event, answer = sent.delivery.event, sent.answer
    return WebhookTry(
        try_id=new_event_id(),
        position=event.position,
        event_id=event.event_id,
        type=event.type,
        number=sent.delivery.number,
        outcome=outcome,
        status=None if answer is None else answer.status,
        answer=None if answer is None or answer.status is None else answer.text,
        problem=str(sent.error) if answer is None else answer.problem,
        duration_ms=sent.duration_ms,
        tried_at=sent.delivery.leased_until,  # the database sets it
    )
