"""The catalogue: every message type of a system, once.

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

from envelope.backbone import DeadLetterResolved
from envelope.message import DomainMessage, Payload


class Kind(StrEnum):
    COMMAND = "command"
    """Directed: goes to the one queue of the service that carries it out."""
    EVENT = "event"
    """Broadcast: says what happened, to whoever binds to it."""


@dataclass(frozen=True, slots=True)
class MessageType:
    """One line of the catalogue."""

    name: str
    kind: Kind
    payload: type[Payload]
    queue: str
    """The queue it is handled from."""
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    for_others: bool = False
    """An event that no service of the system does anything about."""

    @property
    def meaning(self) -> tuple[str, ...]:
        """What the payload's docstring says, each paragraph on a line of its own."""
        # Before Python 3.13 a docstring is indented as it stands in the source.
        paragraphs = re.split(r"\n\s*\n", (self.payload.__doc__ or "").strip())
        return tuple(" ".join(paragraph.split()) for paragraph in paragraphs)

    @property
    def envelope(self) -> type[DomainMessage[Payload]]:
        """`DomainMessage` over the payload, made when it is first asked for: that is slow, and most are for other services."""
        return _envelope(self.payload)


@cache
def _envelope(payload: type[Payload]) -> type[DomainMessage[Payload]]:
    envelope: type[DomainMessage[Payload]] = DomainMessage[payload]  # type: ignore[valid-type]
    envelope.model_rebuild()
    return envelope


@dataclass(frozen=True, slots=True)
class Line:
    """A message type as it is written down; `command` and `event` make them."""

    name: str
    kind: Kind
    payload: type[Payload]
    producers: tuple[str, ...]
    to: str = ""
    """The service that carries it out; empty for events."""
    for_others: bool = False


def command(name: str, payload: type[Payload], *, to: str, producers: Collection[str]) -> Line:
    """A message that asks the service `to` for something."""
    return Line(name, Kind.COMMAND, payload, tuple(producers), to)


def event(name: str, payload: type[Payload], *, producers: Collection[str], for_others: bool = False) -> Line:
    """A message that says what has happened. `for_others`: none of the services does anything about it.

    Such an event says so on its way, and a replica of a version that does not know its type lets it go.
    """
    return Line(name, Kind.EVENT, payload, tuple(producers), for_others=for_others)


class Catalogue(Mapping[str, MessageType]):
    """Message type → its line, and what is true of the system as a whole.

    Args:
        title: the system's name, for people.
        system: the same for programs, `like_this`: what names of metrics and attributes of spans begin with.
        services: those that consume queues. Each has the queue `<service>-commands`.
        types: the lines. That of `dead_letter.resolved` is added by itself where there is a recorder.
        events: the exchange that events are published to.
        router: the service that all events are delivered to; None in a system without events.
        events_queue: the queue it takes them from, `<router>-events` unless said otherwise. Never the name of the exchange:
            the broker grants by name, and who may bind to the exchange could then consume the queue.
        events_queue_formerly: what earlier versions called it. What is under way by such a name still arrives, and
            `python -m messaging topology` moves what lies there.
        subject: fields of payloads that say what a message is about: where a payload has them, spans carry them on, as
            `<system>.<field>`.
        recorder: the service that takes what ends in dead-letter queues, and may send it again; None: nobody does, they
            are looked at with the broker's own tools.

    Raises:
        ValueError: two lines share a name or a payload, one names a service that there is not, or the queue of the
            events is called like their exchange.
    """

    def __init__(
        self,
        *,
        title: str,
        system: str,
        services: Collection[str],
        types: Collection[Line],
        events: str = "events",
        router: str | None = None,
        events_queue: str | None = None,
        events_queue_formerly: Collection[str] = (),
        subject: Collection[str] = (),
        recorder: str | None = None,
    ) -> None:
        self.title = title
        self.system = system
        self.services = tuple(services)
        self.events = events
        self.router = router
        self.events_queue = events_queue or (f"{router}-events" if router else None)
        self.events_queue_formerly = tuple(events_queue_formerly)
        self.subject = tuple(subject)
        self.recorder = recorder
        lines = list(types)
        if recorder is not None:
            resolved = command(
                "dead_letter.resolved", DeadLetterResolved, to=recorder, producers=self.services
            )
            lines.append(resolved)
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
        """The line of a payload.

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

    def names_of(self, queue: str) -> tuple[str, ...]:
        """What a queue is called and was called before, its name of today first."""
        return (queue, *self.events_queue_formerly) if queue == self.events_queue else (queue,)

    def name_today(self, queue: str) -> str:
        """What a queue is called that may be given by a former name; any other name as it is."""
        return self.events_queue if self.events_queue and queue in self.events_queue_formerly else queue

    def calling_events_queue(self, name: str) -> "Catalogue":
        """The same catalogue as a version sees it that calls the queue of the events `name`."""
        names = self.names_of(self.events_queue) if self.events_queue else ()
        types = {
            key: replace(entry, queue=name) if entry.kind is Kind.EVENT else entry
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

    def _type(self, line: Line) -> MessageType:
        if line.kind is Kind.COMMAND:
            queue, consumers = self.command_queue(line.to), (line.to,)
        elif self.router is None or self.events_queue is None:
            raise ValueError(f"{line.name} is an event: name the service that events go to (router=…)")
        else:
            queue, consumers = self.events_queue, (self.router,)
        return MessageType(
            line.name, line.kind, line.payload, queue, line.producers, consumers, line.for_others
        )

    def _check(self, lines: Collection[Line]) -> None:
        if len(self._types) < len(lines) or len(self._by_payload) < len(lines):
            raise ValueError("each message type needs a name and a payload class of its own")
        if self.events_queue == self.events:
            raise ValueError(
                f"the queue of the events needs a name other than their exchange's, {self.events}: the broker grants by name"
            )
        named = {name for line in lines for name in (*line.producers, line.to) if name}
        named |= {name for name in (self.router, self.recorder) if name is not None}
        if strangers := sorted(named - set(self.services)):
            raise ValueError(f"not among the services {', '.join(self.services)}: {', '.join(strangers)}")


def load(reference: str) -> Catalogue:
    """The catalogue that `module:name` or `module` (then `CATALOGUE` in it) stands for, as on a command line.

    Raises:
        LookupError: there is none; the message says what was looked for.
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
