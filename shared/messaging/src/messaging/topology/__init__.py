"""The broker's configuration for the services: exchanges, queues, bindings, users and permissions."""

from messaging.topology.queues import (
    COMMANDS,
    DEAD_LETTERS,
    DELIVERY_LIMIT,
    NOWHERE,
    RETURNS,
    Binding,
    Queue,
    Topology,
    dead_letter_queue,
    declare,
    describe,
    event_queues,
    exchanges,
    work_queues,
)

__all__ = [
    "COMMANDS",
    "DEAD_LETTERS",
    "DELIVERY_LIMIT",
    "NOWHERE",
    "RETURNS",
    "Binding",
    "Queue",
    "Topology",
    "dead_letter_queue",
    "declare",
    "describe",
    "event_queues",
    "exchanges",
    "work_queues",
]
