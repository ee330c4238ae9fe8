"""The permissions of each service at the broker, derived from catalogue and topology alone.

`python -m messaging users CATALOGUE` grants them to the broker's users.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from envelope import Catalogue, MessageKind
from messaging.topology.queues import (
    COMMANDS,
    DEAD_LETTERS,
    NOWHERE,
    OUTSIDE_QUEUE,
    RETURNS,
    dead_letter_queue,
    exchanges,
    work_queues,
)

NOTHING: Final = "^$"
"""Matches no name of an exchange or queue, and no used routing key."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """The permissions of one service. `configure`, `read`, `write` and `topics` are the broker's regular expressions."""

    service: str
    queues: tuple[str, ...]
    """The queues it consumes."""
    former_queues: tuple[str, ...]
    """Their former names: during an upgrade, processes of the previous version still consume them."""
    routing_keys: Mapping[str, tuple[str, ...]]
    """Exchange → the routing keys it may use there. It may publish nothing to an exchange that is missing here."""
    exchanges: tuple[str, ...]
    """Every exchange of the topology."""
    outside_queues: tuple[str, ...] = ()
    """Queues with commands of other systems, which exist once such a system has a user: see `messaging.topology.outside`."""

    @property
    def configure(self) -> str:
        """Names that it may declare and delete: none. Only administrators change the topology."""
        return NOTHING

    @property
    def read(self) -> str:
        """Queues that it may consume. No exchange, so that it cannot bind a queue to one."""
        return pattern((*self.queues, *self.former_queues, *self.outside_queues))

    @property
    def write(self) -> str:
        """Exchanges that it may publish to. No queue, so that it cannot bind one, and not the default exchange."""
        return pattern(self.routing_keys)

    @property
    def topics(self) -> dict[str, str]:
        """Exchange → its permitted routing keys, for every exchange.

        For an exchange without an entry, the broker would allow all routing keys. The doctor may use one more, for which no queue is
        bound.
        """
        of_doctor = {RETURNS: (NOWHERE,)}
        return {
            exchange: pattern((*self.routing_keys.get(exchange, ()), *of_doctor.get(exchange, ())))
            for exchange in self.exchanges
        }


def describe(catalogue: Catalogue) -> dict[str, Permissions]:
    """The permissions of every service, by its name."""
    return {service: service_permissions(catalogue, service) for service in catalogue.services}


def service_permissions(catalogue: Catalogue, service: str) -> Permissions:
    """The permissions of one service."""
    queues = _consumed_by(catalogue, service)
    work = work_queues(catalogue)
    produced = [entry for entry in catalogue.values() if service in entry.producers]
    routing_keys = {
        COMMANDS: _unique(entry.queue for entry in produced if entry.kind is MessageKind.COMMAND),
        catalogue.events: _unique(entry.name for entry in produced if entry.kind is MessageKind.EVENT),
        # Retries go back to the queue they came from; the recorder's replays, to any queue that messages die in.
        # By former names as well: so they stand in the outbox, and in what the recorder has recorded.
        RETURNS: _named(catalogue, _unique((*queues, *(work if service == catalogue.recorder else ())))),
        # Messages that die in a dead-letter queue have no further queue.
        DEAD_LETTERS: _named(catalogue, (queue for queue in queues if queue in work)),
    }
    allowed = {exchange: keys for exchange, keys in routing_keys.items() if keys}
    former = tuple(name for name in _named(catalogue, queues) if name not in queues)
    outside = (OUTSIDE_QUEUE,) if service == catalogue.takes_from_outside else ()
    return Permissions(service, queues, former, allowed, exchanges(catalogue), outside)


def _consumed_by(catalogue: Catalogue, service: str) -> tuple[str, ...]:
    queues = _unique(entry.queue for entry in catalogue.values() if service in entry.consumers)
    if service == catalogue.event_log and catalogue.event_log_queue is not None:
        queues = (*queues, catalogue.event_log_queue)
    if service != catalogue.recorder:
        return queues
    return (*queues, *(dead_letter_queue(queue) for queue in work_queues(catalogue)))


def _named(catalogue: Catalogue, queues: Iterable[str]) -> tuple[str, ...]:
    """The queues by all their names, current and former."""
    names = {
        named(queue): tuple(map(named, catalogue.names_of(queue)))
        for queue in work_queues(catalogue)
        for named in (str, dead_letter_queue)
    }
    return tuple(name for queue in queues for name in names[queue])


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def pattern(names: Iterable[str]) -> str:
    """The regular expression that matches exactly these names."""
    alternatives = "|".join(re.escape(name).replace(r"\-", "-") for name in names)
    return f"^({alternatives})$" if alternatives else NOTHING
