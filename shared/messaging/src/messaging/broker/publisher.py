"""The publishing connection: confirmed, mandatory, with time limits; separate from the consuming one.

A broker short of memory or disk stops reading from publishing connections. Acknowledgements must not get stuck behind that.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import aio_pika
import aiormq
import structlog
from aio_pika.abc import AbstractConnection
from opentelemetry.trace import Span
from pamqp import commands

from chassis.observing import traces
from messaging import fail_points
from messaging import headers as header
from messaging.broker import frames
from messaging.broker.bulk_publish import BulkPublisher, OutgoingMessage
from messaging.broker.connection_probe import ConnectionProbe
from messaging.broker.connections import PublishingConnection, cancellation_as_connection_error, is_blocked
from messaging.broker.refused_routes import RefusedRoutes
from messaging.errors import BROKER_ERRORS, BrokerUnavailableError, UnroutableError
from messaging.observing import spans
from messaging.storage.outbox import OutboxRow

log = structlog.get_logger(__name__)

CONNECT_SECONDS: Final = 5.0
"""For each step of connecting: through a load balancer, the next try may lead to another node. The first try gets half."""
CONFIRM_SECONDS: Final = 4.0
"""A batch without confirms after so long counts as not published, and the connection is closed.

RabbitMQ 3.10 alone takes 10 seconds to resend messages on their way to a replaced leader of a quorum queue (`TIMER_TIME` in its
`rabbit_fifo_client`), and later messages wait as well.
"""
LONGEST_CONFIRM_SECONDS: Final = 16.0
"""The limit grows to this while nothing is confirmed at all: a slow broker must not get the same batch for ever."""
_MAX_SHORT_STRING: Final = 255
_PERSISTENT: Final = 2
_OTHER_USER: Final = re.compile(r"user_id property set to '.*' but authenticated user was '(.*)'")


class Publisher:
    """Keeps one connection to the broker and publishes batches of outbox rows over it."""

    def __init__(self, url: str, *, name: str) -> None:
        self._url = url
        self._app_id = name
        self._name = f"{name} publish"
        self._user = user_of(url)
        self._connected = asyncio.Event()
        self._connection: AbstractConnection | None = None
        self._channel: aiormq.Channel | None = None
        self._bulk: BulkPublisher | None = None
        self._patience = CONFIRM_SECONDS
        self._refusals = RefusedRoutes()
        self.probe = ConnectionProbe(
            f"{name} publish",
            connection=lambda: None if self._channel is None else self._channel.connection,
            excused=lambda: self.blocked,
        )
        frames.install()

    @property
    def url(self) -> str:
        """The broker's address, with the password."""
        return self._url

    @property
    def ready(self) -> bool:
        return self._connected.is_set() and not self.blocked

    @property
    def blocked(self) -> bool:
        """Whether the broker has stopped reading from us (memory or disk alarm)."""
        return self._channel is not None and is_blocked(self._channel.connection)

    async def wait_until_ready(self) -> None:
        await self._connected.wait()
        while self.blocked:  # noqa: ASYNC110  (the client library has no event for the end of a block)
            await asyncio.sleep(0.5)

    async def run(self) -> None:
        """Connects, and connects again whenever the connection is lost; runs until cancelled."""
        delay, patience = 0.2, CONNECT_SECONDS / 2
        try:
            while True:
                try:
                    with cancellation_as_connection_error():
                        closed = await self._connect(patience)
                except BROKER_ERRORS as error:
                    log.warning(
                        "broker_unavailable", connection=self._name, error=repr(error), retry_seconds=delay
                    )
                    await self._drop_connection()
                    await asyncio.sleep(delay)
                    delay, patience = min(delay * 2, 5.0), CONNECT_SECONDS
                    continue
                delay, patience = 0.2, CONNECT_SECONDS / 2
                await asyncio.wait([closed])
                if not closed.cancelled():
                    self._refusals.note(closed.exception())
                    self._learn_user(closed.exception())
                await self._drop_connection()
        finally:
            await self._drop_connection()

    def _learn_user(self, error: BaseException | None) -> None:
        """Corrects the user name: with a token or certificate, the broker may use another name than the URL."""
        if (found := _OTHER_USER.search(str(error))) is not None:
            log.warning("user_is_called_otherwise", connection=self._name, url=self._user, broker=found[1])
            self._user = found[1]

    async def _connect(self, seconds: float) -> asyncio.Future[Any]:
        """Connects, with a limit in seconds per step; returns a future that is done once the connection is lost."""
        self._connection = await aio_pika.connect(
            self._url,
            timeout=seconds,
            client_properties={"connection_name": self._name},
            connection_class=PublishingConnection,
        )
        async with asyncio.timeout(seconds):
            channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            underlay = await channel.get_underlay_channel()
        assert isinstance(underlay, aiormq.Channel)
        self._bulk = BulkPublisher.on(underlay)
        self._channel = underlay
        self._connected.set()
        closed: asyncio.Future[Any] = underlay.closing
        return closed

    async def _drop_connection(self) -> None:
        self._connected.clear()
        self._channel = self._bulk = None
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception), cancellation_as_connection_error():
                async with asyncio.timeout(2):
                    await connection.close()

    async def publish(self, rows: Sequence[OutboxRow]) -> list[Exception | None]:
        """Publishes the rows and waits for their confirms; returns per row None or why it may not have arrived.

        `UnroutableError`: the broker returned it. `QueueFullError`: a queue refused it. `BrokerUnavailableError`: no confirm in time; it may
        have arrived. `PublishRefusedError`: our user may not publish there. Any other error: the row itself cannot be sent.
        """
        outcomes: dict[int, Exception | None] = {}
        indexes: list[int] = []
        publications: list[OutgoingMessage] = []
        properties: list[bytes] = []
        message_ids: set[str] = set()
        traced = traces.active()
        started: dict[int, Span] = {}
        for index, row in enumerate(rows):
            if (refused := self._refusals.of(row.exchange, row.routing_key)) is not None:
                outcomes[index] = refused
                continue
            # The broker returns what it cannot route by message id, so within a batch each is unique.
            message_id = str(row.event_id) if str(row.event_id) not in message_ids else str(row.id)
            message_ids.add(message_id)
            headers: dict[str, Any] = row.headers
            if traced or header.TRACEPARENT in headers:
                started[index] = spans.start_publish_span(row)
                headers = {**headers, **traces.headers_of(started[index])}
            try:
                publication = self._publication(row, message_id, headers)
                properties.append(publication.properties())
            except Exception as error:  # noqa: BLE001  (one bad row must not hold up the others)
                outcomes[index] = error
                continue
            publications.append(publication)
            indexes.append(index)
        if publications:
            confirmed = await self._publish_all(publications, properties)
            outcomes |= dict(zip(indexes, confirmed, strict=True))
        for index, span in started.items():
            traces.end_span(span, outcomes[index])
        return [outcomes[index] for index in range(len(rows))]

    async def _publish_all(
        self, publications: Sequence[OutgoingMessage], properties: Sequence[bytes]
    ) -> list[Exception | None]:
        # Held on to: a lost connection replaces both while we wait.
        channel, bulk = self._channel, self._bulk
        if channel is None or channel.is_closed:
            return [BrokerUnavailableError("not connected") for _ in publications]
        if bulk is None:
            return await self._publish_singly(channel, publications)
        batch, patience, began = None, self._patience, time.monotonic()
        try:
            async with asyncio.timeout(patience):
                batch = await bulk.send(publications, properties)
                if fail_points.ARMED:
                    await asyncio.sleep(0.01)  # the client library writes in a task of its own
                    fail_points.reach("relay.sent")
                await bulk.wait(batch)
            if not batch.open:
                self._learn_patience(time.monotonic() - began)
        except TimeoutError:
            self._give_up(channel, patience, len(publications), slow=not bulk.was_answered)
        if batch is None:
            return [BrokerUnavailableError("not sent in time") for _ in publications]
        self._refusals.note(batch.closed_by)
        return [
            # Batch outcomes lack the refusal that closed the channel, and others that would have closed it.
            (self._refusals.of(each.exchange, each.routing_key) if error is not None else None) or error
            for each, error in zip(publications, bulk.outcomes(batch), strict=True)
        ]

    async def _publish_singly(
        self, channel: aiormq.Channel, publications: Sequence[OutgoingMessage]
    ) -> list[Exception | None]:
        """Publishes with the client library alone, if its internals are not as `messaging.broker.frames` expects."""
        futures = [asyncio.ensure_future(_publish_one(channel, each)) for each in publications]
        patience, began = self._patience, time.monotonic()
        try:
            async with asyncio.timeout(patience):
                await asyncio.wait(futures)
            self._learn_patience(time.monotonic() - began)
        except TimeoutError:
            self._give_up(channel, patience, len(publications), slow=True)
        return [_outcome(future) for future in futures]

    def _learn_patience(self, seconds: float) -> None:
        """Adapts the confirm limit to the time a batch took, so that a slow broker is not given up."""
        self._patience = min(max(CONFIRM_SECONDS, 3 * seconds), LONGEST_CONFIRM_SECONDS)

    def _give_up(self, channel: aiormq.Channel, seconds: float, messages: int, *, slow: bool) -> None:
        """Aborts a connection in doubt; `run` opens a new one, perhaps to another node.

        `slow`: nothing was confirmed over it at all, perhaps for lack of time.
        """
        log.warning("publish_not_confirmed", connection=self._name, seconds=seconds, messages=messages)
        if slow:
            self._patience = min(2 * seconds, LONGEST_CONFIRM_SECONDS)
        if not channel.is_closed:
            frames.abort(channel.connection)

    def _publication(self, row: OutboxRow, message_id: str, headers: dict[str, Any]) -> OutgoingMessage:
        return OutgoingMessage(
            exchange=row.exchange,
            routing_key=row.routing_key,
            body=row.body,
            message_id=message_id,
            type=row.type,
            correlation_id=_short(row.correlation_id),
            user_id=self._user,
            app_id=self._app_id,
            headers=headers,
        )


async def _publish_one(channel: aiormq.Channel, publication: OutgoingMessage) -> Any:
    return await channel.basic_publish(
        publication.body,
        exchange=publication.exchange,
        routing_key=publication.routing_key,
        properties=commands.Basic.Properties(
            content_type="application/json",
            delivery_mode=_PERSISTENT,
            message_id=publication.message_id,
            message_type=publication.type,
            correlation_id=publication.correlation_id,
            user_id=publication.user_id,
            app_id=publication.app_id,
            headers=publication.headers,
        ),
        mandatory=True,
        wait=False,
    )


def _outcome(future: asyncio.Future[Any]) -> Exception | None:
    if not future.done() or future.cancelled():
        future.cancel()
        return BrokerUnavailableError("not confirmed in time, or the connection was lost")
    error = future.exception()
    if error is None:
        return None
    if isinstance(error, aio_pika.exceptions.PublishError):
        return UnroutableError(str(error))
    return BrokerUnavailableError(repr(error))


def user_of(url: str) -> str:
    """The user in an AMQP URL; `guest`, the broker's default, if none."""
    return unquote(urlsplit(url).username or "guest")


def _short(value: str | None) -> str | None:
    """The value, or None if it exceeds 255 bytes, the limit of AMQP's short strings; the body has it anyway."""
    return value if value is None or len(value.encode()) <= _MAX_SHORT_STRING else None
