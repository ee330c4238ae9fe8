"""Compares what services have sent with what their consumers have done, round by round."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis.http.client import PassingError, UnusableAnswerError
from envelope import Catalogue
from messaging import Database
from messaging.ledger_routes import GRACE_SECONDS
from messaging.topology import dead_letter_queue
from monitor.dead_letters import DeadLetterState, states_of_messages
from monitor.ledger import store
from monitor.ledger.domain import QUIET, LedgerMessage, LedgerState, Surroundings, Unhandled, judge, last_hop
from monitor.ledger.message_routes import LedgerRoute, consumers_of, routes_of
from monitor.ledger.peers import LedgerPeer, Outcomes, OwnPeer, SentRecordPage
from monitor.ledger.store import Count, CountKey, FoundMessage

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(seconds=10)
GRACE: Final = timedelta(seconds=GRACE_SECONDS)
_MOST_PAGES: Final = 20
"""Of one route in a round, so that the others come to their turn."""
_MOST_CHECKED: Final = 1000
"""Messages of a queue that a round asks about again."""


class LedgerReconciler:
    """Reads each sender's record page by page, and asks the consumers for outcomes.

    Every page is stored in one transaction with the place of the next, so that no message is counted twice.

    Args:
        database: of the monitor.
        peers: the other services by name; messages of and for a service that is missing are not counted.
        catalogue: of the system.
        overdue: after this time without a trace, a message is missing.
        grace: how old a sent message must be.
        quiet: how long a queue must have been seen empty before a message of it is missing.
    """

    def __init__(
        self,
        database: Database,
        peers: Mapping[str, LedgerPeer],
        catalogue: Catalogue,
        *,
        overdue: timedelta,
        grace: timedelta = GRACE,
        quiet: timedelta = QUIET,
    ) -> None:
        self._database = database
        self._own = OwnPeer(database)
        self._peers: dict[str, LedgerPeer] = {**peers, database.service: self._own}
        self._routes = [
            route
            for route in routes_of(catalogue)
            if route.sender in self._peers and route.consumer in self._peers
        ]
        self._consumers = consumers_of(catalogue)
        self._overdue = overdue
        self._grace = grace
        self._quiet = quiet

    async def tick(self) -> bool:
        """Makes a round if it is due; returns whether it did."""
        async with self._database.connection() as connection:
            if not await store.claim_round(connection, EVERY):
                return False
        await self.advance()
        return True

    async def advance(self) -> None:
        """Makes one round: reads what was sent, asks again about what is not done, and looks at dead letters."""
        problems: dict[str, str | None] = {}
        async with self._database.connection() as connection:
            known = await store.progress(connection)
        for route in self._routes:
            place = known[route.sender, route.queue].place if (route.sender, route.queue) in known else None
            await self._read_route(route, place, problems)
        for queue in dict.fromkeys(route.queue for route in self._routes):
            await self._check_again(queue, problems)
        await self._check_dead_letters()
        async with self._database.connection() as connection:
            await store.note_services(connection, problems)

    async def forget_old(self) -> None:
        async with self._database.connection() as connection:
            await store.forget_old(connection)

    # -- first questions -------------------------------------------------------------------------------------------------

    async def _read_route(
        self, route: LedgerRoute, place: str | None, problems: dict[str, str | None]
    ) -> None:
        for _ in range(_MOST_PAGES):
            # Nothing is read for a consumer that is away: its messages stay in the record until it is back.
            if problems.get(route.sender) or problems.get(route.consumer):
                return
            page = await self._sent(route, place, problems)
            if page is None:
                return
            ids = b"".join(each.ids for each in page.batches)
            outcomes = (
                await self._outcomes(route.consumer, route.queue, ids, problems)
                if ids
                else Outcomes({}, None)
            )
            if outcomes is None or not await self._store_page(route, place, page, outcomes):
                return
            place = page.next
            if page.is_last:
                return

    async def _sent(
        self, route: LedgerRoute, place: str | None, problems: dict[str, str | None]
    ) -> SentRecordPage | None:
        try:
            page = await self._peers[route.sender].sent(route, place, older_than=self._grace)
        except (PassingError, UnusableAnswerError) as error:
            problems[route.sender] = str(error)[:500]
            return None
        problems.setdefault(route.sender, None)
        return page

    async def _outcomes(
        self, consumer: str, queue: str, ids: bytes, problems: dict[str, str | None]
    ) -> Outcomes | None:
        try:
            found = await self._peers[consumer].outcomes(queue, ids)
        except (PassingError, UnusableAnswerError) as error:
            problems[consumer] = str(error)[:500]
            return None
        problems.setdefault(consumer, None)
        return found

    async def _store_page(
        self, route: LedgerRoute, place: str | None, page: SentRecordPage, outcomes: Outcomes
    ) -> bool:
        """Stores a page with its outcomes; returns False if another replica has done so."""
        counts: dict[CountKey, Count] = {}
        open_ones: list[LedgerMessage] = []
        done_until: datetime | None = None
        for batch in page.batches:
            hour = batch.sent_at.replace(minute=0, second=0, microsecond=0)
            count = counts.setdefault(CountKey(hour, route.sender, route.queue), Count())
            count.accepted += len(batch)
            count.done += len(batch)
            before = len(open_ones)
            if outcomes.unhandled:
                open_ones += (
                    LedgerMessage(
                        event_id=event_id,
                        queue=route.queue,
                        sender=route.sender,
                        type=batch.type,
                        correlation_id=batch.correlation_ids[number],
                        sent_at=batch.sent_at,
                        known_at=batch.sent_at,
                    )
                    for number in range(len(batch))
                    if (event_id := batch.id_at(number)) in outcomes.unhandled
                )
            if len(open_ones) - before < len(batch):
                done_until = batch.sent_at
            count.done -= len(open_ones) - before
        found = await self._judge(route.queue, open_ones, outcomes)
        async with self._database.transaction() as tx:
            connection = tx.connection
            if not await store.advance(
                connection,
                route.sender,
                route.queue,
                place,
                page.next,
                read_until=page.read_until,
                done_until=done_until,
            ):
                return False
            await store.note_recording(connection, route.sender, is_recorded=page.is_recorded)
            for each in found:
                if each.finding.state is None:
                    counts[store.count_key(each.message)].done += 1
            not_done = [each for each in found if each.finding.state is not None]
            if counts:
                await store.count(connection, counts)
            if not_done:
                await store.insert(connection, not_done)
        _tell(
            missing=[each.message for each in not_done if each.finding.state is LedgerState.MISSING],
            consumers=self._consumers,
        )
        return True

    # -- further questions -----------------------------------------------------------------------------------------------

    async def _check_again(self, queue: str, problems: dict[str, str | None]) -> None:
        consumer = self._consumers[queue]
        if problems.get(consumer):
            return
        async with self._database.connection() as connection:
            messages = await store.to_check(connection, queue, _MOST_CHECKED)
        if not messages:
            return
        outcomes = await self._outcomes(
            consumer, queue, b"".join(each.event_id.bytes for each in messages), problems
        )
        if outcomes is not None:
            await self._store_findings(await self._judge(queue, messages, outcomes))

    async def _check_dead_letters(self) -> None:
        async with self._database.connection() as connection:
            messages = await store.dead_ones(connection, _MOST_CHECKED)
        for queue in dict.fromkeys(each.queue for each in messages):
            of_queue = [each for each in messages if each.queue == queue]
            # Its consumer has said that it is dead, and that is final.
            dead = {each.event_id: Unhandled("dead_lettered") for each in of_queue}
            await self._store_findings(await self._judge(queue, of_queue, Outcomes(dead, None)))

    async def _store_findings(self, found: Sequence[FoundMessage]) -> None:
        async with self._database.transaction() as tx:
            ended = await store.update(tx.connection, found)
        _tell(missing=ended.missing, found_again=ended.found_again, consumers=self._consumers)

    async def _judge(
        self, queue: str, messages: Sequence[LedgerMessage], outcomes: Outcomes
    ) -> list[FoundMessage]:
        if not messages:
            return []
        unhandled = [each.event_id for each in messages if each.event_id in outcomes.unhandled]
        async with self._database.connection() as connection:
            letters = await states_of_messages(connection, unhandled, queue)
            known = await store.progress(connection)
            now = await store.time_now(connection)
        around = Surroundings(
            now=now,
            overdue=self._overdue,
            ready=outcomes.ready,
            dead_ready=await self._dead_ready(queue, unhandled, letters, outcomes),
            done_until={
                sender: each.done_until for (sender, of_queue), each in known.items() if of_queue == queue
            },
            quiet=self._quiet,
        )
        return [
            FoundMessage(
                each,
                judge(each, outcomes.unhandled.get(each.event_id), letters.get(each.event_id), around),
            )
            for each in messages
        ]

    async def _dead_ready(
        self,
        queue: str,
        unhandled: Sequence[UUID],
        letters: Mapping[UUID, DeadLetterState],
        outcomes: Outcomes,
    ) -> int | None:
        """Messages in the dead-letter queue, if one of these may be there."""
        if any(
            outcomes.unhandled[each].state == "dead_lettered" and each not in letters for each in unhandled
        ):
            return await self._own.ready(dead_letter_queue(queue))
        return None


def _tell(
    *,
    missing: Sequence[LedgerMessage],
    found_again: Sequence[LedgerMessage] = (),
    consumers: Mapping[str, str],
) -> None:
    for each in missing:
        log.error(
            "message_missing",
            event_id=str(each.event_id),
            type=each.type,
            sender=each.sender,
            queue=each.queue,
            correlation_id=each.correlation_id,
            sent_at=each.sent_at.isoformat(),
            last_hop=last_hop(each.queue, consumers[each.queue], each.place, each.known_at),
        )
    for each in found_again:
        log.info(
            "missing_message_found",
            event_id=str(each.event_id),
            type=each.type,
            queue=each.queue,
            missing_since=each.missing_since and each.missing_since.isoformat(),
        )
