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
        exchange, key = (COMMANDS, entry.queue) if is_command else (catalogue.events, None)
        taken = [(entry.queue, consumer) for consumer in entry.consumers]
        if not is_command and catalogue.event_log is not None and catalogue.event_log_queue is not None:
            taken.append((catalogue.event_log_queue, catalogue.event_log))
        for sender in entry.producers:
            for queue, consumer in taken:
                route = LedgerRoute(sender, consumer, queue, exchange, key)
                found.setdefault((sender, queue), route)
    return tuple(found.values())


def consumers_of(catalogue: Catalogue) -> dict[str, str]:
    """Queue → its consumer."""
    return {route.queue: route.consumer for route in routes_of(catalogue)}
