"""`GET /v1/backbone/topology`: who sends what to whom, by the catalogue; part of `backbone_routes`."""

from itertools import product
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from chassis.http.api import View, needs
from chassis.http.callers import Scope
from envelope import Catalogue, MessageKind
from messaging.flow.transactions import Database
from messaging.topology import COMMANDS, DEAD_LETTERS, RETURNS, dead_letter_queue, work_queues


class SentTypesView(View):
    """Message types that a service may send to an exchange, for one queue."""

    producer: Annotated[str, Field(examples=["orchestrator"])]
    exchange: Annotated[str, Field(examples=["commands"])]
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    types: tuple[str, ...]
    """In the order of the catalogue."""


class ConsumedQueueView(View):
    queue: str
    consumer: str
    """The service that takes its messages."""
    dead_letter_queue: str


class TopologyView(View):
    """The message routes of the system, as the answering service knows them."""

    services: tuple[str, ...]
    """Those that consume queues."""
    exchanges: tuple[str, ...]
    """Exchanges for first sends; retries and dead letters have others."""
    returns: str
    """The exchange for retries and replays, routed to the queue that they came from."""
    dead_letters: str
    """The exchange for dead letters, routed to the dead-letter queue of their queue."""
    recorder: str | None
    """The service that consumes all dead-letter queues; null: none does."""
    queues: tuple[ConsumedQueueView, ...]
    sent: tuple[SentTypesView, ...]


def topology_of(catalogue: Catalogue) -> TopologyView:
    """Returns what `GET /v1/backbone/topology` answers for a catalogue."""
    routes: dict[tuple[str, str, str], list[str]] = {}
    for entry in catalogue.values():
        exchange = COMMANDS if entry.kind is MessageKind.COMMAND else catalogue.events
        for producer, queue in product(entry.producers, catalogue.queues_of(entry)):
            routes.setdefault((producer, exchange, queue), []).append(entry.name)
    consumers = {catalogue.command_queue(each): each for each in catalogue.services}
    consumers |= {
        queue: service
        for queue, service in (
            (catalogue.events_queue, catalogue.router),
            (catalogue.event_log_queue, catalogue.event_log),
        )
        if queue is not None and service is not None
    }
    return TopologyView(
        services=catalogue.services,
        exchanges=(COMMANDS, catalogue.events),
        returns=RETURNS,
        dead_letters=DEAD_LETTERS,
        recorder=catalogue.recorder,
        queues=tuple(
            ConsumedQueueView(queue=each, consumer=consumers[each], dead_letter_queue=dead_letter_queue(each))
            for each in work_queues(catalogue)
        ),
        sent=tuple(
            SentTypesView(producer=producer, exchange=exchange, queue=queue, types=tuple(types))
            for (producer, exchange, queue), types in routes.items()
        ),
    )


def add_topology_routes(routes: APIRouter, database: Database) -> None:
    """Adds the route to those of the backbone."""

    @routes.get(
        "/topology", summary="Message routes", dependencies=[needs(Scope.OPERATE, of_all_brands=True)]
    )
    async def get_topology() -> TopologyView:
        """Returns which service sends which types of messages over which exchange to which queue, and who takes them from there.

        It is the catalogue of the answering version, and says nothing of the broker's state.
        """
        return topology_of(database.catalogue)
