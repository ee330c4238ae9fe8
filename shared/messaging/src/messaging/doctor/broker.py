"""Probes of the broker with the service's own user, over a connection of their own.

That user may read its queues and publish on the routes of its service, no more. What takes an administrator to see, such as the
arguments of a queue, is in `messaging.doctor.inspection`.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelAccessRefused

from envelope import Catalogue
from messaging.broker import frames
from messaging.broker.connections import PublishingConnection, cancellation_as_connection_error, is_blocked
from messaging.broker.publisher import Publisher, user_of
from messaging.doctor.findings import PROBE_SECONDS, Finding, Probe, Status, run_in_turn
from messaging.topology import (
    COMMANDS,
    DEAD_LETTERS,
    NOWHERE,
    RETURNS,
    dead_letter_queue,
    permissions,
    work_queues,
)

OLDEST: Final = (3, 10)
NEWEST: Final = (4, 3)
_CLOSE_SECONDS: Final = 2.0
_CONFIRM_SECONDS: Final = 3.0
_NOT_TRIED: Final = "Not tried: the broker takes no messages now."
_PROBE_TYPE: Final = "doctor.probe"
_DECLARE: Final = "Declare the topology: `python -m messaging topology CATALOGUE`."
_RENEW: Final = "Renew the users of the broker: `python -m messaging users CATALOGUE`."

Attempt = Callable[[AbstractChannel], Awaitable[object]]


class BrokerProbes:
    """One run of the probes; the first of them connects."""

    def __init__(self, publisher: Publisher, service: str, catalogue: Catalogue) -> None:
        self._publisher = publisher
        self._service = service
        self._catalogue = catalogue
        self._connection: AbstractConnection | None = None

    async def run(self) -> list[Finding]:
        """Runs the probes in turn and closes their connection; raises nothing."""
        probes: dict[str, Callable[[str], Awaitable[Finding]]] = {
            "broker": self._check_server,
            "queues": self._check_queues,
            "dead_letter_exchange": self._check_dead_letters,
            "publisher_confirms": self._check_confirms,
            "broker_permissions": self._check_permissions,
            # The broker tells a connection of an alarm only when it publishes.
            "broker_alarms": self._check_alarms,
        }
        named: list[tuple[str, Probe]] = [(name, partial(probe, name)) for name, probe in probes.items()]
        try:
            return await run_in_turn(named)
        finally:
            await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        underlay = _underlay(connection)
        with suppress(Exception), cancellation_as_connection_error():
            async with asyncio.timeout(_CLOSE_SECONDS):
                await connection.close()
        if underlay is not None and not underlay.is_closed:
            # A broker with an alarm does not read that we close.
            frames.abort(underlay)

    async def _check_server(self, name: str) -> Finding:
        with cancellation_as_connection_error():
            self._connection = connection = await aio_pika.connect(
                self._publisher.url,
                timeout=PROBE_SECONDS,
                client_properties={"connection_name": f"{self._service} doctor"},
                connection_class=PublishingConnection,
            )
        properties = _server_properties(connection)
        product, text = str(properties.get("product", "The broker")), str(properties.get("version", ""))
        found = f"{product} {text} answers."
        numbers = re.match(r"(\d+)\.(\d+)", text)
        supported = f"RabbitMQ {_dotted(OLDEST)} to {_dotted(NEWEST)} are supported"
        if numbers is None or product != "RabbitMQ":
            return Finding(name, Status.WARNING, f"{found} {supported}.", "Use a supported broker.")
        version = (int(numbers[1]), int(numbers[2]))
        if version < OLDEST:
            return Finding(name, Status.FAILED, f"{found} It is too old: {supported}.", "Upgrade the broker.")
        if version > NEWEST:
            return Finding(
                name,
                Status.WARNING,
                f"{found} It is newer than what was tested: {supported}.",
                "Use a supported version, or a newer version of this software.",
            )
        return Finding(name, Status.OK, found)

    @property
    def _is_blocked(self) -> bool:
        return self._publisher.blocked or is_blocked(_underlay(self._connection))

    async def _check_alarms(self, name: str) -> Finding:
        if self._is_blocked:
            return Finding(
                name,
                Status.FAILED,
                "The broker takes no messages: it is short of memory or of free disk.",
                "Look at the alarms (`rabbitmq-diagnostics alarms`), and give the broker more disk or memory.",
            )
        if not self._publisher.ready:
            return Finding(
                name,
                Status.WARNING,
                "The connection on which the service publishes is not open.",
                "It is opened again by itself. If this stays, look for `broker_unavailable` in the log of the service.",
            )
        return Finding(name, Status.OK, "The broker reports no alarm for memory or disk.")

    async def _check_queues(self, name: str) -> Finding:
        queues = self._permissions.queues
        if not queues:
            return Finding(name, Status.OK, "The service consumes no queue.")
        missing = [queue for queue in queues if await self._attempt(_see_queue(queue)) == "missing"]
        if missing:
            return Finding(
                name,
                Status.FAILED,
                f"The broker has no queue {', '.join(missing)} for the service.",
                _DECLARE,
            )
        return Finding(name, Status.OK, f"The broker has the queues of the service: {', '.join(queues)}.")

    async def _check_dead_letters(self, name: str) -> Finding:
        if await self._attempt(_see_exchange(DEAD_LETTERS)) == "missing":
            return Finding(
                name,
                Status.FAILED,
                f"The broker has no exchange {DEAD_LETTERS}: messages that fail for good stay in the outbox, and those"
                " that the broker gives up stay in their queue.",
                _DECLARE,
            )
        work = work_queues(self._catalogue)
        dead = [dead_letter_queue(queue) for queue in self._permissions.queues if queue in work]
        # RabbitMQ 4.3 shows a queue only to users with a permission for it, so a refusal says nothing.
        missing = [queue for queue in dead if await self._attempt(_see_queue(queue)) == "missing"]
        if missing:
            return Finding(
                name,
                Status.FAILED,
                f"The broker has no queue {', '.join(missing)} for dead letters of the service.",
                _DECLARE,
            )
        return Finding(name, Status.OK, f"The exchange {DEAD_LETTERS} and the queues behind it are there.")

    async def _check_confirms(self, name: str) -> Finding:
        if self._is_blocked:
            return Finding(name, Status.SKIPPED, _NOT_TRIED)
        try:
            outcome = await self._attempt(_publish(RETURNS))
        except TimeoutError:
            if self._is_blocked:
                return Finding(name, Status.SKIPPED, _NOT_TRIED)
            raise
        match outcome:
            case "returned":
                return Finding(
                    name,
                    Status.OK,
                    "The broker returned a message without a destination, and confirmed that.",
                )
            case "refused":
                return Finding(
                    name,
                    Status.WARNING,
                    f"Not tried: the user of the service may not use the routing key {NOWHERE} of the doctor.",
                    _RENEW,
                )
            case "missing":
                return Finding(name, Status.FAILED, f"The broker has no exchange {RETURNS}.", _DECLARE)
            case _:
                return Finding(
                    name,
                    Status.FAILED,
                    f"The broker did not return a message with the routing key {NOWHERE}, for which no queue is declared.",
                    f"Look at the bindings of the exchange {RETURNS}, and remove those that the topology does not have.",
                )

    async def _check_permissions(self, name: str) -> Finding:
        if self._is_blocked:
            return Finding(name, Status.SKIPPED, _NOT_TRIED)
        # Each is harmless even where it is allowed: nothing is bound, and the exchange is there already.
        attempts: dict[str, Attempt] = {
            "publish to exchanges of others": _publish("amq.topic"),
            "publish commands that it does not send": _publish(COMMANDS),
            "declare exchanges": _declare_again,
        }
        allowed = [
            what
            for what, attempt in attempts.items()
            if await self._attempt(attempt) not in {"refused", "missing"}
        ]
        user = user_of(self._publisher.url)
        if allowed:
            return Finding(
                name,
                Status.WARNING,
                f"The broker's user {user} may do more than the service needs: {', '.join(allowed)}.",
                f"Give each service a user of its own. {_RENEW}",
            )
        return Finding(
            name, Status.OK, f"The broker refuses to its user {user} what the service does not need."
        )

    @property
    def _permissions(self) -> permissions.Permissions:
        return permissions.service_permissions(self._catalogue, self._service)

    async def _attempt(self, attempt: Attempt) -> str:
        """Tries it on a channel of its own, which an error closes; returns `done`, `returned`, `refused` or `missing`."""
        assert self._connection is not None
        with cancellation_as_connection_error():
            channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            try:
                await attempt(channel)
            except ChannelAccessRefused:
                return "refused"
            except aio_pika.exceptions.ChannelNotFoundEntity:
                return "missing"
            except aio_pika.exceptions.PublishError:
                outcome = "returned"
            else:
                outcome = "done"
            await channel.close()
        return outcome


def _see_queue(queue: str) -> Attempt:
    return lambda channel: channel.declare_queue(queue, passive=True)


def _see_exchange(exchange: str) -> Attempt:
    return lambda channel: channel.declare_exchange(exchange, passive=True)


def _publish(exchange: str) -> Attempt:
    """Publishes a message that no queue takes."""

    async def act(channel: AbstractChannel) -> None:
        target = await channel.get_exchange(exchange, ensure=False)
        message = aio_pika.Message(b"{}", type=_PROBE_TYPE, expiration=1)
        await target.publish(message, NOWHERE, mandatory=True, timeout=_CONFIRM_SECONDS)

    return act


async def _declare_again(channel: AbstractChannel) -> None:
    """Declares an exchange that is there, as it is there."""
    await channel.declare_exchange(COMMANDS, passive=True)
    await channel.declare_exchange(COMMANDS, aio_pika.ExchangeType.TOPIC, durable=True)


def _underlay(connection: AbstractConnection | None) -> Any:
    """The aiormq connection; None without one."""
    return getattr(getattr(connection, "transport", None), "connection", None)


def _server_properties(connection: AbstractConnection) -> dict[str, Any]:
    properties = getattr(_underlay(connection), "server_properties", {})
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in properties.items()}


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
