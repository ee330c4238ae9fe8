"""Telling: what was noticed is composed into messages, one on its way for a route at a time, and sent through the gateway.

A message is composed once and sent at least once: who receives it twice can tell by its id. Each route is served by itself; one that
hangs or fails keeps none of the others.
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
from monitor.notifications import domain, outgoing, store
from monitor.notifications.channels import CHANNELS
from monitor.notifications.domain import Item, Route
from monitor.notifications.gateway import Gateway, NotArrivedError, NotNowError, RefusedError
from monitor.notifications.message import Message
from monitor.notifications.summary import Summaries

log = structlog.get_logger(__name__)

_PAUSE_SECONDS: Final = 2.0
_LEASE: Final = timedelta(seconds=90)
"""Longer than the gateway may take, and a summary before that."""
_AT_ONCE: Final = 16
_SUMMARY: Final = uuid5(NAMESPACE_URL, "brand-engine:notifications:summary")
_TEST: Final[Mapping[str, Any]] = {
    "title": "Test of notifications",
    "paragraphs": ["If you can read this, notifications on this route arrive here."],
    "items": [],
    "more": 0,
    "told": [],
}


class Telling:
    def __init__(self, database: Database, gateway: Gateway, summaries: Summaries) -> None:
        self._database = database
        self._gateway = gateway
        self._summaries = summaries
        self._sending: dict[str, asyncio.Task[None]] = {}
        """By route."""

    async def run(self) -> None:
        """Goes on until it is cancelled. What is being sent then is sent again by whoever comes next."""
        try:
            while True:
                try:
                    await self._tell()
                except DatabaseUnavailableError:
                    raise
                except Exception:
                    log.exception("notifications_failed")
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            await cancel_all(self._sending.values())

    async def _tell(self) -> None:
        async with self._database.connection() as connection:
            wanted = await outgoing.wanted(connection)
        if wanted.summary or wanted.news:
            await self.compose()
        if wanted.summary or wanted.news or wanted.sending:
            await self._begin_sending()

    async def compose(self) -> None:
        """Makes messages of what is to be told now, on every route, and summaries that are due."""
        while await self._begin_summary():
            pass
        async with self._database.transaction() as tx:
            await outgoing.assign(tx.connection)
            names = await outgoing.routes_with_something_open(tx.connection)
        for name in names:
            await self._compose_for(name)

    async def _compose_for(self, name: str) -> None:
        async with self._database.transaction() as tx:
            # What is composed of a brand that is erased at this moment would outlive it.
            await ERASURES.block_erasures(tx.connection)
            held = await outgoing.hold_ready_route(tx.connection, name)
            if held is None:
                return
            route, now = held
            found = [(each, domain.about(each, now)) for each in await outgoing.to_tell(tx.connection, route)]
            silent = [each.notification_id for each, what in found if what is None and each.resolved_at]
            if silent:
                await outgoing.close(tx.connection, name, silent)
            items = [Item(each, what) for each, what in found if what is not None]
            now_due = domain.due_now(route, items, now)
            if now_due:
                content = domain.content_of(now_due)
                await outgoing.insert_message(tx.connection, new_event_id(), route, "news", content)

    async def _begin_summary(self) -> bool:
        """One message for a due time, whichever replica comes first; of several that were missed, the last."""
        async with self._database.transaction() as tx:
            due = await outgoing.due_summary(tx.connection)
            if due is None:
                return False
            route, due_at, now = due
            assert route.summary is not None
            message = uuid5(_SUMMARY, f"{route.name} {due_at.isoformat()}")
            await outgoing.insert_message(tx.connection, message, route, "summary", None)
            await outgoing.set_summary_due(tx.connection, route.name, route.summary.next_after(now))
        return True

    async def _begin_sending(self) -> None:
        while len(self._sending) < _AT_ONCE:
            async with self._database.transaction() as tx:
                claimed = await outgoing.claim_message(tx.connection, _LEASE, busy=list(self._sending))
            if claimed is None:
                return
            route = claimed.route.name
            self._sending[route] = task = asyncio.create_task(
                self._send_quietly(claimed), name=f"notify {route}"
            )
            task.add_done_callback(partial(self._sent_on, route))

    def _sent_on(self, route: str, _: object) -> None:
        del self._sending[route]

    async def _send_quietly(self, claimed: outgoing.Claimed) -> None:
        """Whatever happens, the lease ends and somebody tries again."""
        try:
            await self.send(claimed)
        except DatabaseUnavailableError as error:
            log.warning("notification_outcome_unknown", message_id=str(claimed.id), problem=str(error))
        except Exception:
            log.exception("notification_failed", message_id=str(claimed.id))

    async def test(self, route: Route) -> UUID:
        """Sends a test message now, and once; the log has what came of it."""
        message = new_event_id()
        async with self._database.transaction() as tx:
            await outgoing.insert_message(tx.connection, message, route, "test", _TEST)
            claimed = await outgoing.claim_message(tx.connection, _LEASE, busy=(), only=message)
        if claimed is not None:
            await self.send(claimed)
        return message

    async def send(self, claimed: outgoing.Claimed) -> None:
        """Has a claimed message sent, and writes down what came of it."""
        try:
            remark = await self._sent(claimed)
        except (PassingError, UnusableAnswerError) as error:
            outcome: Exception | None = NotNowError(str(error)[:500])
            remark = None
        except (NotNowError, NotArrivedError, RefusedError) as error:
            outcome, remark = error, None
        else:
            outcome = None
        async with self._database.transaction() as tx:
            await self._write_down(tx.connection, claimed, outcome, remark)
        log.info(
            "notification_sent" if outcome is None else "notification_not_sent",
            route=claimed.route.name,
            message_id=str(claimed.id),
            purpose=claimed.purpose,
            attempt=claimed.attempts,
            problem=None if outcome is None else str(outcome),
        )

    async def _sent(self, claimed: outgoing.Claimed) -> str | None:
        route = claimed.route
        account = (await self._gateway.accounts()).get(route.account)
        if account is None:
            raise RefusedError(f"no account {route.account} is connected: brandctl accounts connect")
        channel = CHANNELS.get(account.kind)
        if channel is None:
            raise RefusedError(f"{route.account} is a {account.kind} account, which takes no notifications")
        content = claimed.content
        if content is None:
            began = await self._now()
            content = await self._summaries.content(route, claimed.made_at)
            async with self._database.transaction() as tx:
                if await store.erased_since(tx.connection, began):
                    raise NotNowError("a brand was erased while it was put together", timedelta(seconds=5))
                if not await outgoing.store_content(tx.connection, claimed, content):
                    raise NotNowError("another process sends it")
        message = Message.of(claimed.id, claimed.made_at, claimed.purpose, content)
        return await self._gateway.send(
            channel, route.account, route.brand, channel.form(message, route.addresses or account.chats[:1])
        )

    async def _now(self) -> datetime:
        """By the database's clock."""
        async with self._database.connection() as connection:
            now: datetime = await connection.fetchval("select clock_timestamp()")
        return now

    async def _write_down(
        self, connection: Connection, claimed: outgoing.Claimed, outcome: Exception | None, remark: str | None
    ) -> None:
        match outcome:
            case None:
                await outgoing.note_sent(connection, claimed, remark)
            case _ if claimed.purpose == "test":
                # Somebody waits for what came of it, and sees: it is not tried again.
                await outgoing.park(connection, claimed, str(outcome), None)
            case NotNowError() if claimed.age < domain.NEVER_SENT_FOR:
                await outgoing.put_off(connection, claimed, str(outcome), outcome.after, counts=False)
            case NotArrivedError():
                after = domain.tried_again_after(claimed.attempts, is_failing=claimed.is_failing)
                if after is None:
                    await outgoing.park(connection, claimed, str(outcome), domain.FAILING_TRIED_AFTER)
                else:
                    await outgoing.put_off(connection, claimed, str(outcome), after, counts=True)
            case NotNowError() | RefusedError():
                await outgoing.park(connection, claimed, str(outcome), domain.FAILING_TRIED_AFTER)
            case _:
                raise AssertionError(outcome)
