"""Composes notifications into messages, one at a time for each route, and sends them through the gateway.

A message is composed once and sent at least once; receivers recognize a duplicate by its id. Each route has its own task, so that
one that hangs or fails does not delay the others.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog

from chassis import Connection
from chassis.database.pool import DatabaseUnavailableError
from chassis.http.client import PassingError, UnusableAnswerError
from chassis.tasks import cancel_all
from envelope import new_event_id
from messaging import Database
from monitor.erased import ERASURES
from monitor.notifications import domain, message_store, store
from monitor.notifications.channels import CHANNELS
from monitor.notifications.domain import NotificationItem, NotificationRoute
from monitor.notifications.gateway import (
    DeliveryFailedError,
    DeliveryPostponedError,
    NotificationRefusedError,
    NotifierGateway,
)
from monitor.notifications.message import Message
from monitor.notifications.summary import SummaryComposer

log = structlog.get_logger(__name__)

_LEASE: Final = timedelta(seconds=90)
"""Longer than composing a summary and the gateway's answer take."""
_AT_ONCE: Final = 16
_SUMMARY: Final = uuid5(NAMESPACE_URL, "brand-engine:notifications:summary")
_TEST: Final[Mapping[str, Any]] = {
    "title": "Test of notifications",
    "paragraphs": ["If you can read this, notifications on this route arrive here."],
    "items": [],
    "more": 0,
    "told": [],
}


class Notifier:
    def __init__(self, database: Database, gateway: NotifierGateway, summaries: SummaryComposer) -> None:
        self._database = database
        self._gateway = gateway
        self._summaries = summaries
        self._sending: dict[str, asyncio.Task[None]] = {}
        """Tasks by route."""

    async def aclose(self) -> None:
        """Stops sending; the next process sends unfinished messages again."""
        await cancel_all(self._sending.values())

    async def tick(self) -> None:
        """Composes due messages, and starts to send those that wait."""
        async with self._database.connection() as connection:
            wanted = await message_store.pending_work(connection)
        if wanted.summary or wanted.news:
            await self.compose_due()
        if wanted.summary or wanted.news or wanted.sending:
            await self._start_sending()

    async def compose_due(self) -> None:
        """Composes the due messages of every route, and creates due summaries."""
        while await self._create_due_summary():
            pass
        async with self._database.transaction() as tx:
            await message_store.assign_to_routes(tx.connection)
            names = await message_store.routes_with_pending(tx.connection)
        for name in names:
            await self._compose_for(name)

    async def _compose_for(self, name: str) -> None:
        async with self._database.transaction() as tx:
            # Without this, a message about a brand that is erased at the same time would outlive the erasure.
            await ERASURES.block_erasures(tx.connection)
            held = await message_store.lock_ready_route(tx.connection, name)
            if held is None:
                return
            route, now = held
            found = [
                (each, domain.due_event(each, now))
                for each in await message_store.pending_notifications(tx.connection, route)
            ]
            silent = [each.notification_id for each, what in found if what is None and each.resolved_at]
            if silent:
                await message_store.close_tellings(tx.connection, name, silent)
            items = [NotificationItem(each, what) for each, what in found if what is not None]
            now_due = domain.due_items(route, items, now)
            if now_due:
                content = domain.message_content(now_due)
                await message_store.insert_message(tx.connection, new_event_id(), route, "news", content)

    async def _create_due_summary(self) -> bool:
        """Creates one summary for a due time on the first replica; of several missed ones only the last. False if none is due."""
        async with self._database.transaction() as tx:
            due = await message_store.due_summary(tx.connection)
            if due is None:
                return False
            route, due_at, now = due
            assert route.summary is not None
            message = uuid5(_SUMMARY, f"{route.name} {due_at.isoformat()}")
            await message_store.insert_message(tx.connection, message, route, "summary", None)
            await message_store.set_summary_due(tx.connection, route.name, route.summary.next_after(now))
        return True

    async def _start_sending(self) -> None:
        while len(self._sending) < _AT_ONCE:
            async with self._database.transaction() as tx:
                claimed = await message_store.claim_message(tx.connection, _LEASE, busy=list(self._sending))
            if claimed is None:
                return
            route = claimed.route.name
            self._sending[route] = task = asyncio.create_task(
                self._send_or_log(claimed), name=f"notify {route}"
            )
            task.add_done_callback(partial(self._forget_task, route))

    def _forget_task(self, route: str, _: object) -> None:
        del self._sending[route]

    async def _send_or_log(self, claimed: message_store.LeasedMessage) -> None:
        """Sends a message and logs errors; after an error the lease ends, and a replica tries again."""
        try:
            await self.send(claimed)
        except DatabaseUnavailableError as error:
            log.warning("notification_outcome_unknown", message_id=str(claimed.id), problem=str(error))
        except Exception:
            log.exception("notification_failed", message_id=str(claimed.id))

    async def send_test(self, route: NotificationRoute) -> UUID:
        """Sends a test message once, now; returns its id, under which its outcome is stored."""
        message = new_event_id()
        async with self._database.transaction() as tx:
            await message_store.insert_message(tx.connection, message, route, "test", _TEST)
            claimed = await message_store.claim_message(tx.connection, _LEASE, busy=(), only=message)
        if claimed is not None:
            await self.send(claimed)
        return message

    async def send(self, claimed: message_store.LeasedMessage) -> None:
        """Sends a leased message and stores the outcome."""
        try:
            remark = await self._deliver(claimed)
        except (PassingError, UnusableAnswerError) as error:
            outcome: Exception | None = DeliveryPostponedError(str(error)[:500])
            remark = None
        except (DeliveryPostponedError, DeliveryFailedError, NotificationRefusedError) as error:
            outcome, remark = error, None
        else:
            outcome = None
        async with self._database.transaction() as tx:
            await self._store_outcome(tx.connection, claimed, outcome, remark)
        log.info(
            "notification_sent" if outcome is None else "notification_not_sent",
            route=claimed.route.name,
            message_id=str(claimed.id),
            purpose=claimed.purpose,
            attempt=claimed.attempts,
            problem=None if outcome is None else str(outcome),
        )

    async def _deliver(self, claimed: message_store.LeasedMessage) -> str | None:
        route = claimed.route
        account = (await self._gateway.accounts()).get(route.account)
        if account is None:
            raise NotificationRefusedError(
                f"no account {route.account} is connected: brandctl accounts connect"
            )
        channel = CHANNELS.get(account.kind)
        if channel is None:
            raise NotificationRefusedError(
                f"{route.account} is a {account.kind} account, which takes no notifications"
            )
        content = claimed.content
        if content is None:
            began = await self._now()
            content = await self._summaries.content(route, claimed.made_at)
            async with self._database.transaction() as tx:
                if await store.erased_since(tx.connection, began):
                    raise DeliveryPostponedError(
                        "a brand was erased during its composition", timedelta(seconds=5)
                    )
                if not await message_store.store_content(tx.connection, claimed, content):
                    raise DeliveryPostponedError("another replica sends it")
        message = Message.of(claimed.id, claimed.made_at, claimed.purpose, content)
        return await self._gateway.send(
            channel, account, route.brand, channel.form(message, route.addresses or account.chats[:1])
        )

    async def _now(self) -> datetime:
        """The database's time."""
        async with self._database.connection() as connection:
            now: datetime = await connection.fetchval("select clock_timestamp()")
        return now

    async def _store_outcome(
        self,
        connection: Connection,
        claimed: message_store.LeasedMessage,
        outcome: Exception | None,
        remark: str | None,
    ) -> None:
        match outcome:
            case None:
                await message_store.mark_sent(connection, claimed, remark)
            case _ if claimed.purpose == "test":
                # The caller sees the outcome at once, so there is no retry.
                await message_store.mark_failed(connection, claimed, str(outcome), None)
            case DeliveryPostponedError() if claimed.age < domain.NEVER_SENT_FOR:
                await message_store.postpone(connection, claimed, str(outcome), outcome.after, counts=False)
            case DeliveryFailedError():
                after = domain.retry_delay(claimed.attempts, is_failing=claimed.is_failing)
                if after is None:
                    await message_store.mark_failed(
                        connection, claimed, str(outcome), domain.FAILING_TRIED_AFTER
                    )
                else:
                    await message_store.postpone(connection, claimed, str(outcome), after, counts=True)
            case DeliveryPostponedError() | NotificationRefusedError():
                await message_store.mark_failed(connection, claimed, str(outcome), domain.FAILING_TRIED_AFTER)
            case _:
                raise AssertionError(outcome)
