"""The two kinds of handlers, and the routing table that a service builds from them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from envelope import Catalogue, DomainMessage, Payload
from messaging.flow.transactions import Transaction


@dataclass(frozen=True, slots=True)
class Context:
    """Facts about the running attempt, for a single handler."""

    queue: str
    attempt: int
    """From 1."""
    log: structlog.stdlib.BoundLogger
    """Bound to the message: event_id, type, correlation_id, attempt, queue, processing_delay_ms, and its span."""
    alone: bool = False
    """Whether all other messages wait for this attempt, because its message may have killed its consumer. A handler with durable steps
    then does one step and raises `WaitFor`."""


RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class GroupedRecord(Generic[RowT]):
    """A record that is written together with others that share `write`: one call takes the rows of all handlers that ended at the same time.

    Rows come in the order in which their handlers ended. If the call raises, each row is written alone, in a transaction of its own, so
    that one bad row does not harm the others.
    """

    write: Callable[[Transaction, Sequence[RowT]], Awaitable[None]]
    row: RowT


Record = Callable[[Transaction], Awaitable[None]]
"""Writes a single handler's result, in one short transaction with the message's inbox row."""

SingleHandler = Callable[[DomainMessage[Any], Context], Awaitable[Record | GroupedRecord[Any] | None]]
BatchHandler = Callable[[Sequence[DomainMessage[Any]], Transaction], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class OnEach:
    handler: SingleHandler
    payloads: tuple[type[Payload], ...]


@dataclass(frozen=True, slots=True)
class OnBatch:
    handler: BatchHandler
    payloads: tuple[type[Payload], ...]


Handler = OnEach | OnBatch
PayloadT = TypeVar("PayloadT", bound=Payload)


def on_each(
    handler: Callable[[DomainMessage[PayloadT], Context], Awaitable[Record | GroupedRecord[Any] | None]],
    payload: type[PayloadT],
) -> OnEach:
    """Makes a handler for slow outside work: called per message, `max_concurrency` at a time, with no transaction open.

    It returns a `Record` or `GroupedRecord`, which runs in one short transaction with the message's inbox row, or None.
    """
    return OnEach(handler, (payload,))


def on_batch(
    handler: Callable[[Sequence[DomainMessage[Any]], Transaction], Awaitable[None]], *payloads: type[Payload]
) -> OnBatch:
    """Makes a handler for quick database work: called with the fresh messages of a batch, in order, inside the transaction.

    If it raises, the batch is rolled back and each message is tried alone.
    """
    return OnBatch(handler, payloads)


def routing_table(catalogue: Catalogue, handlers: Sequence[Handler]) -> Mapping[str, Handler]:
    """Maps each message type to its handler.

    Raises:
        LookupError: a payload is not in the catalogue.
        ValueError: two handlers take the same type.
    """
    table: dict[str, Handler] = {}
    for handler in handlers:
        for name in (catalogue.type_of(payload).name for payload in handler.payloads):
            if name in table:
                raise ValueError(f"two handlers take {name}")
            table[name] = handler
    return table
