"""The catalogue lists every message type of a system once.

Routing, validation, the broker's topology and permissions, schemas and documentation all come from this table. A system
makes one `Catalogue` and hands it to each of its services; that of the brand engine is in `envelope.brand`.
"""

import copy
import importlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from envelope.backbone import DeadLetterEdited, DeadLetterResolved
from envelope.message import DomainMessage, Payload


class MessageKind(StrEnum):
    COMMAND = "command"
    """Directed: goes to the queue of the one service that handles it."""
    EVENT = "event"
    """Broadcast: reports what happened, to every bound queue."""


class LateRule(StrEnum):
    """What becomes of a message after the deadline of its chain."""

    RUNS = "runs"
    """It is handled as ever: it reports what has happened, clears up, or settles what has begun."""
    ENDS = "ends"
    """No further attempt begins."""
    ENDS_UNBEGUN = "ends_unbegun"
    """It ends if no attempt has begun. Otherwise its effects may be there already, and it is handled to the end."""


@dataclass(frozen=True, slots=True)
class MessageType:
    """A message type with its queue, producers and consumers."""

    name: str
    kind: MessageKind
    payload: type[Payload]
    queue: str
    """The queue of its handler."""
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    for_others: bool = False
    """An integration event: no service of this system handles it."""
    late: LateRule = LateRule.RUNS

    @property
    def meaning(self) -> tuple[str, ...]:
        """The paragraphs of the payload's docstring, each on one line."""
        # Python before 3.13 keeps the source's indentation in docstrings.
        paragraphs = re.split(r"\n\s*\n", (self.payload.__doc__ or "").strip())
        return tuple(" ".join(paragraph.split()) for paragraph in paragraphs)

    @property
    def envelope(self) -> type[DomainMessage[Payload]]:
        """The `DomainMessage` class of the payload, made on first use: that is slow, and most types belong to other services."""
        return _envelope(self.payload)


@cache
def _envelope(payload: type[Payload]) -> type[DomainMessage[Payload]]:
    envelope: type[DomainMessage[Payload]] = DomainMessage[payload]  # type: ignore[valid-type]
    envelope.model_rebuild()
    return envelope


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message type as declared with `command` or `event`."""

    name: str
    kind: MessageKind
    payload: type[Payload]
    producers: tuple[str, ...]
    to: str = ""
    """The service that handles the command; empty for events."""
    for_others: bool = False
    late: LateRule = LateRule.RUNS


def command(
    name: str,
    payload: type[Payload],
    *,
    to: str,
    producers: Collection[str],
    late: LateRule = LateRule.RUNS,
) -> MessageSpec:
    """Declares a message that asks the service `to` for something. `late` says what its chain's deadline means for it."""
    return MessageSpec(name, MessageKind.COMMAND, payload, tuple(producers), to, late=late)


def event(
    name: str, payload: type[Payload], *, producers: Collection[str], for_others: bool = False
) -> MessageSpec:
    """Declares a message that reports what happened. `for_others` marks an integration event.

    Messages of such a type carry a mark, so a replica of a version that does not know the type ignores them.
    """
    return MessageSpec(name, MessageKind.EVENT, payload, tuple(producers), for_others=for_others)


class Catalogue(Mapping[str, MessageType]):
    """Maps message types to their definitions, and describes the system.

    Args:
        title: the system's name for people.
        system: its name for programs, `like_this`: the prefix of metrics and span attributes.
        services: services that consume queues; each has the queue `<service>-commands`.
        types: the declarations. A recorder adds `dead_letter.resolved` and `dead_letter.edited`.
        events: the exchange for events.
        router: the service that receives all events; None in a system without events.
        events_queue: its queue, by default `<router>-events`. It must differ from the exchange's name: the broker
            grants rights by
            name, so a service that may bind to the exchange could also consume the queue.
        events_queue_formerly: names from earlier versions. Messages on the way under such a name still arrive, and
            `python -m messaging topology` moves those that lie there.
        event_log: the service that keeps all events for others, beside the router, from the queue `event_log_queue`; None: none does.
        event_log_queue: its queue.
        takes_from_outside: the service that takes commands of other systems at the broker; None: none does.
        subject: payload fields that say what a message is about; spans carry them as `<system>.<field>`.
        identity: payload fields that an edit of a dead letter may not change; those with ids (UUIDs) never may.
        recorder: the service that records dead letters and replays them; None: operators use the broker's own tools.

    Raises:
        ValueError: two declarations share a name or a payload, one names an unknown service, or the queue of
            events has the
            exchange's name.
    """

    def __init__(
        self,
        *,
        title: str,
        system: str,
        services: Collection[str],
        types: Collection[MessageSpec],
        events: str = "events",
        router: str | None = None,
        events_queue: str | None = None,
        events_queue_formerly: Collection[str] = (),
        event_log: str | None = None,
        event_log_queue: str = "event-log",
        takes_from_outside: str | None = None,
        subject: Collection[str] = (),
        identity: Collection[str] = (),
        recorder: str | None = None,
    ) -> None:
        self.title = title
        self.system = system
        self.services = tuple(services)
        self.events = events
        self.router = router
        self.events_queue = events_queue or (f"{router}-events" if router else None)
        self.events_queue_formerly = tuple(events_queue_formerly)
        self.event_log = event_log
        self.event_log_queue = event_log_queue if event_log else None
        self.takes_from_outside = takes_from_outside
        self.subject = tuple(subject)
        self.identity = frozenset(identity)
        self.recorder = recorder
        lines = list(types)
        if recorder is not None:
            lines += [
                command(name, payload, to=recorder, producers=self.services)
                for name, payload in (
                    ("dead_letter.resolved", DeadLetterResolved),
                    ("dead_letter.edited", DeadLetterEdited),
                )
            ]
        self._types = {line.name: self._type(line) for line in lines}
        self._by_payload = {entry.payload: entry for entry in self._types.values()}
        self._check(lines)

    def __getitem__(self, name: str) -> MessageType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def type_of(self, payload: Payload | type[Payload]) -> MessageType:
        """The message type of a payload.

        Raises:
            LookupError: the payload's class is not in the catalogue.
        """
        cls = payload if isinstance(payload, type) else type(payload)
        try:
            return self._by_payload[cls]
        except KeyError:
            raise LookupError(
                f"{cls.__name__} is not in the catalogue of {self.title}: add a line for it"
            ) from None

    def command_queue(self, service: str) -> str:
        return f"{service}-commands"

    def queues_of(self, entry: MessageType) -> tuple[str, ...]:
        """The queues that get the messages of a type: that of its handler, and that of the log of events."""
        if entry.kind is MessageKind.EVENT and self.event_log_queue is not None:
            return (entry.queue, self.event_log_queue)
        return (entry.queue,)

    def names_of(self, queue: str) -> tuple[str, ...]:
        """All names of a queue, the current one first."""
        return (queue, *self.events_queue_formerly) if queue == self.events_queue else (queue,)

    def name_today(self, queue: str) -> str:
        """Translates a former name of a queue into the current one; returns other names unchanged."""
        return self.events_queue if self.events_queue and queue in self.events_queue_formerly else queue

    def calling_events_queue(self, name: str) -> "Catalogue":
        """The catalogue for a version in which the queue of events is called `name`."""
        names = self.names_of(self.events_queue) if self.events_queue else ()
        types = {
            key: replace(entry, queue=name) if entry.kind is MessageKind.EVENT else entry
            for key, entry in self._types.items()
        }
        other = copy.copy(self)
        vars(other).update(
            events_queue=name,
            events_queue_formerly=tuple(each for each in names if each != name),
            _types=types,
            _by_payload={entry.payload: entry for entry in types.values()},
        )
        return other

    def _type(self, line: MessageSpec) -> MessageType:
        if line.kind is MessageKind.COMMAND:
            queue, consumers = self.command_queue(line.to), (line.to,)
        elif self.router is None or self.events_queue is None:
            raise ValueError(f"{line.name} is an event: name the service that events go to (router=…)")
        else:
            queue, consumers = self.events_queue, (self.router,)
        return MessageType(
            line.name,
            line.kind,
            line.payload,
            queue,
            line.producers,
            consumers,
            line.for_others,
            line.late,
        )

    def _check(self, lines: Collection[MessageSpec]) -> None:
        if len(self._types) < len(lines) or len(self._by_payload) < len(lines):
            raise ValueError("each message type needs a name and a payload class of its own")
        if self.events in {self.events_queue, self.event_log_queue}:
            raise ValueError(
                f"a queue of events needs a name other than their exchange's, {self.events}: the broker grants by name"
            )
        named = {name for line in lines for name in (*line.producers, line.to) if name}
        named |= {
            name
            for name in (self.router, self.recorder, self.event_log, self.takes_from_outside)
            if name is not None
        }
        if strangers := sorted(named - set(self.services)):
            raise ValueError(f"not among the services {', '.join(self.services)}: {', '.join(strangers)}")


def load(reference: str) -> Catalogue:
    """Loads the catalogue from `module:name` or `module` (then `CATALOGUE` in it), as given on a command line.

    Raises:
        LookupError: the catalogue does not exist; the message names what is missing.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name or "CATALOGUE", None)
    except (ImportError, ValueError) as error:
        raise LookupError(f"no catalogue at {reference!r}: {error}") from error
    if not isinstance(found, Catalogue):
        raise LookupError(  # noqa: TRY004  (what is wrong is the reference, whatever it leads to)
            f"no catalogue at {reference!r}: write module:name, such as shop.catalogue:CATALOGUE"
        )
    return found
