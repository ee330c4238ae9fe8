"""Which service sends to which queue, and which one consumes it: from the catalogue, as the topology is."""

from dataclasses import dataclass

from envelope import Catalogue, MessageKind
from messaging.topology import COMMANDS


@dataclass(frozen=True, slots=True)
class LedgerRoute:
    """Messages of one sender for one queue."""

    sender: str
    consumer: str
    queue: str
    exchange: str
    routing_key: str | None
    """None: all of the exchange's."""


def routes_of(catalogue: Catalogue) -> tuple[LedgerRoute, ...]:
    """All routes. An event that no queue takes has none: it is done once it is sent."""
    found: dict[tuple[str, str], LedgerRoute] = {}
    for entry in catalogue.values():
        is_command = entry.kind is MessageKind.COMMAND
        for sender in entry.producers:
            for consumer in entry.consumers:
                found.setdefault(
                    (sender, entry.queue),
                    LedgerRoute(
                        sender,
                        consumer,
                        entry.queue,
                        COMMANDS if is_command else catalogue.events,
                        entry.queue if is_command else None,
                    ),
                )
    return tuple(found.values())


def consumers_of(catalogue: Catalogue) -> dict[str, str]:
    """Queue → its consumer."""
    return {route.queue: route.consumer for route in routes_of(catalogue)}
