"""Checks that a message's sender may send it and is who it claims to be.

The broker knows each connected user and its permitted routing keys, and does not read bodies. So the check compares the body with facts
that the broker verifies: exchange, routing key, and the AMQP property `user_id`, which must be the publishing user's name.
"""

from collections.abc import Sequence
from typing import Final

from envelope import Catalogue, DeadLetterEdited, DeadLetterResolved, Message, MessageType
from messaging.broker.deliveries import Delivery
from messaging.flow.codec import BodyDecoder, DecodeResult, DeliveryReader, InvalidMessage, NotAnEnvelope
from messaging.flow.failures import Failure
from messaging.headers import Reason
from messaging.storage.origins import PublishOrigin
from messaging.topology import COMMANDS, RETURNS, permissions

_REMEMBERED: Final = 1_000


class SenderCheck:
    """Checks the messages that one service takes from one of its queues.

    Args:
        catalogue: the permitted senders of each type.
        service: the consuming service.
        queue: the queue that it consumes.
        user: the service's user at the broker. If it ends with the service's name, the other services have users with the same
            prefix, and each can be recognised; otherwise all share one user.
    """

    def __init__(self, catalogue: Catalogue, service: str, queue: str, user: str) -> None:
        self._catalogue = catalogue
        self._service = service
        self._queue = queue
        prefix = user.removesuffix(service)
        self._has_users_per_service = user.endswith(service)
        self._users = (
            {f"{prefix}{name}": name for name in catalogue.services} if self._has_users_per_service else {}
        )
        self._permitted = permissions.describe(catalogue)
        self._known_problems: dict[tuple[object, ...], str] = {}

    def problem(self, delivery: Delivery, message: Message) -> str:
        """The reason why a message fails the check, with the expected and the actual value; empty if it passes."""
        about = _queue_of(message)
        key = (delivery.published_to, delivery.user_id, message.type, message.source, about)
        problem = self._known_problems.get(key)
        if problem is None:
            if len(self._known_problems) >= _REMEMBERED:  # strangers may think of ever new names
                self._known_problems.clear()
            arrival = PublishOrigin(*delivery.origin(), delivery.user_id)
            problem = self._known_problems[key] = self._check(arrival, message, about)
        return problem

    def problem_at(self, arrival: PublishOrigin, message: Message) -> str:
        """The reason why a message of this origin fails the check; empty if it passes."""
        return self._check(arrival, message, _queue_of(message))

    def is_replay(self, delivery: Delivery) -> bool:
        """Whether another user than the queue's own consumer has sent the message back to the queue.

        Without `user_id`, any permitted user may have sent it. With one user for all services, the answer is always False.
        """
        if not self._has_users_per_service or not delivery.came_by(RETURNS):
            return False
        return self._users.get(delivery.user_id or "") != self._service

    def _check(self, arrival: PublishOrigin, message: Message, about: str | None) -> str:
        entry = self._catalogue[message.type]
        if message.source not in entry.producers:
            return f"{entry.name} may come from {_either(entry.producers)}, but source is {message.source!r}"
        exchange, routing_key, user_id = arrival
        if exchange == self._catalogue.events and routing_key != entry.name:
            return f"{entry.name} must have its type as routing key, but has {routing_key!r}"
        sender = self._users.get(user_id or "")
        if exchange not in (self._catalogue.events, COMMANDS):
            # Retries and replays. Their originals were checked: `messaging.flow.replays` looks them up.
            problem = self._problem_of_return(sender)
        elif sender is not None:
            problem = (
                "" if sender == message.source else f"source is {message.source!r}, but {sender} sent it"
            )
        else:
            problem = self._problem_without_user(
                entry, exchange, routing_key, source_matters=about is not None
            )
        return problem or self._problem_with_queue(message.source, about)

    def _problem_of_return(self, sender: str | None) -> str:
        expected = {self._service, self._catalogue.recorder}
        if sender is None or sender in expected:
            return ""
        return f"only {_either(sorted(filter(None, expected)))} may return messages to {self._queue}, but {sender} did"

    def _problem_without_user(
        self, entry: MessageType, exchange: str, routing_key: str, *, source_matters: bool
    ) -> str:
        """The problem of a message without a known user: its routing key must prove that a permitted service sent it."""
        if not self._has_users_per_service:
            return ""
        possible = [
            service
            for service, permitted in self._permitted.items()
            if routing_key in permitted.routing_keys.get(exchange, ())
        ]
        others = [service for service in possible if service not in entry.producers]
        if not others and not (source_matters and len(possible) > 1):
            return ""
        return (
            f"user_id is not one of our services', and with the routing key {routing_key!r} it may come from "
            f"{_either(others or possible)}; send it with the AMQP property user_id, or replay it if you know its sender"
        )

    def _problem_with_queue(self, source: str, queue: str | None) -> str:
        permitted = self._permitted[source]
        if queue is None or queue in (*permitted.queues, *permitted.former_queues):
            return ""
        # No value of a payload is repeated in a reason.
        return (
            f"{source} reports about a queue that it does not consume; its own: {', '.join(permitted.queues)}"
        )


def sender_checking_reader(decode: BodyDecoder, sender_check: SenderCheck) -> DeliveryReader:
    """A reader that returns messages which fail the check as invalid."""

    def read(delivery: Delivery) -> DecodeResult:
        decoded = decode(delivery.body, delivery.type, delivery.headers)
        if isinstance(decoded, InvalidMessage | NotAnEnvelope):
            return decoded
        problem = sender_check.problem(delivery, decoded)
        return (
            InvalidMessage(decoded, Failure(Reason.FALSE_CLAIM, "FalseClaim", problem))
            if problem
            else decoded
        )

    return read


def _queue_of(message: Message) -> str | None:
    """The queue that the payload is about; None if it is about none."""
    payload = message.payload
    return payload.queue if isinstance(payload, DeadLetterResolved | DeadLetterEdited) else None


def _either(names: Sequence[str]) -> str:
    return " or ".join(names) if len(names) <= 2 else f"one of {', '.join(names)}"  # noqa: PLR2004
