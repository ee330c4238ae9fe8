"""What a broker must have before services can work on it: exchanges, queues, bindings, users and their permissions."""

from messaging.topology.queues import (
    COMMANDS,
    DEAD_LETTERS,
    DELIVERY_LIMIT,
    RETURNS,
    Binding,
    Queue,
    Topology,
    dead_letter_queue,
    declare,
    describe,
    exchanges,
    work_queues,
)

__all__ = [
    "COMMANDS",
    "DEAD_LETTERS",
    "DELIVERY_LIMIT",
    "RETURNS",
    "Binding",
    "Queue",
    "Topology",
    "dead_letter_queue",
    "declare",
    "describe",
    "exchanges",
    "work_queues",
]
