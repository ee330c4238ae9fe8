"""The two shapes of handler, and the table that a service makes of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from envelope import Catalogue, DomainMessage, Payload
from messaging.flow.transactions import Transaction


@dataclass(frozen=True, slots=True)
class Context:
    """What a single handler may know about the attempt it is making."""

    queue: str
    attempt: int
    """From 1."""
    log: structlog.stdlib.BoundLogger
    """Bound to the message: event_id, type, correlation_id, attempt, queue, processing_delay_ms, and its span."""
    alone: bool = False
    """Whether all others wait until this attempt ends: its message may be what killed its consumer. Who has long work in
    durable steps does one of them and raises `WaitFor`."""


RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class GroupedRecord(Generic[RowT]):
    """A record that is written with its like: of single handlers that end at the same time, rows with the same `write` go to one call of it.

    They come in the order in which their handlers ended. If the call raises, each is written alone, in a transaction of its
    own, so that one that cannot be written spoils nothing but itself.
    """

    write: Callable[[Transaction, Sequence[RowT]], Awaitable[None]]
    row: RowT


Record = Callable[[Transaction], Awaitable[None]]
"""What a single handler leaves to be written, in one short transaction with the message's inbox row."""

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
    """A handler for slow outside work: called per message, `max_concurrency` at a time, with no transaction open.

    It returns a `Record`, which is run in one short transaction that also holds the message's inbox row, or what is written
    `Together` with its like, or None.
    """
    return OnEach(handler, (payload,))


def on_batch(
    handler: Callable[[Sequence[DomainMessage[Any]], Transaction], Awaitable[None]], *payloads: type[Payload]
) -> OnBatch:
    """A handler for quick database work: called with the fresh messages of a batch, in order, inside the transaction.

    If it raises, the batch is rolled back and each message is tried alone.
    """
    return OnBatch(handler, payloads)


def routing_table(catalogue: Catalogue, handlers: Sequence[Handler]) -> Mapping[str, Handler]:
    """Message type → handler.

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
