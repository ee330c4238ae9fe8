"""The topology page: diagrams and tables in Markdown."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from envelope import Catalogue, MessageKind
from messaging import topology
from messaging.topology import COMMANDS, DEAD_LETTERS, NOWHERE, RETURNS, dead_letter_queue, permissions

_HEAD: Final = """\
<!-- Made by `make schemas` from the catalogue, the topology and the permissions: changes here are lost. -->

# Topology

Every exchange and queue of the system, their messages, senders and receivers.
`python -m messaging topology CATALOGUE` declares them, and `python -m messaging users CATALOGUE` creates the users with these
permissions; services declare nothing. [`asyncapi.json`](asyncapi.json), an AsyncAPI 3.0.0 document, has the fields and examples
of all messages.
"""

_FAILURES: Final = """\
## When a message fails

This applies to every queue that a service consumes.

```mermaid
flowchart LR
    work[(its queue)] --> service([its service])
    service -- "again, later" --> returns{{{{{returns}}}}}
    returns --> work
    service -- "given up, with the facts" --> dead{{{{{dead_letters}}}}}
    work -. "no envelope, or delivered too often" .-> dead
    dead --> dlq[("its queue-dlq")]
{recorder}```
"""
_RECORDER: Final = """\
    dlq --> {recorder}([{recorder}])
    {recorder} -- "replay" --> returns
"""

_WIDTH: Final = 125
"""Columns of a line."""
_EVENTS: Final = ("events", "the event's type")
_EXCHANGES: Final = {
    COMMANDS: ("commands", "the queue of the service that executes it"),
    RETURNS: ("retries and replays", "the queue it returns to"),
    DEAD_LETTERS: ("dead letters", "the queue it died in"),
}


def _with_short_lines(page: str) -> str:
    """Returns the page with wrapped paragraphs; tables and pictures stay as they are."""
    lines: list[str] = []
    in_picture = False
    for line in page.split("\n"):
        in_picture ^= line.startswith("```")
        if len(line) > _WIDTH and not (in_picture or line.startswith("|")):
            lines += textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
        else:
            lines.append(line)
    return "\n".join(lines)


class TopologyPage:
    """The topology page of one system."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._described = topology.describe(catalogue)
        self._permitted = permissions.describe(catalogue)
        self._work = topology.work_queues(catalogue)

    def render(self) -> str:
        """The page, as Markdown with pictures in Mermaid."""
        sections = (
            _HEAD,
            "## The way of a message\n\n" + self._picture(),
            self._failures(),
            "## Messages\n\n" + self._messages(),
            "## Exchanges\n\nAll durable, of type `topic`.\n\n" + self._exchanges(),
            "## Queues\n\nAll durable quorum queues.\n\n" + self._queues(),
            "## Bindings\n\n" + self._bindings(),
            self._permissions(),
        )
        return _with_short_lines("\n".join(sections))

    def _failures(self) -> str:
        recorder = self._catalogue.recorder
        return _FAILURES.format(
            returns=RETURNS,
            dead_letters=DEAD_LETTERS,
            recorder=_RECORDER.format(recorder=recorder) if recorder else "",
        )

    def _picture(self) -> str:
        lines = ["```mermaid", "flowchart LR"]
        lines += [f"    {service}([{service}])" for service in self._catalogue.services]
        lines += [f"    {_exchange(name)}{{{{{name}}}}}" for name in (COMMANDS, self._catalogue.events)]
        lines += [f"    {_queue(name)}[({name})]" for name in self._work]
        for service in self._catalogue.services:
            for kind, exchange in (
                (MessageKind.COMMAND, COMMANDS),
                (MessageKind.EVENT, self._catalogue.events),
            ):
                sent = self._edge_labels(service, kind)
                if sent:
                    lines.append(f'    {service} -- "{"<br/>".join(sent)}" --> {_exchange(exchange)}')
        lines += [
            f"    {_exchange(binding.exchange)} --> {_queue(binding.queue)}"
            for binding in self._described.bindings
            if binding.exchange in (COMMANDS, self._catalogue.events)
        ]
        lines += [
            f"    {_queue(queue)} --> {service}"
            for service, permitted in self._permitted.items()
            for queue in permitted.queues
            if queue in self._work
        ]
        sent_by_all = [
            entry.name for entry in self._catalogue.values() if entry.producers == self._catalogue.services
        ]
        note = f"\nNot drawn: every service also sends {_codes(sent_by_all)}.\n" if sent_by_all else ""
        return "\n".join([*lines, "```\n"]) + note

    def _edge_labels(self, service: str, kind: MessageKind) -> list[str]:
        """The message types on an edge of the diagram, without those that every service sends."""
        return [
            entry.name
            for entry in self._catalogue.values()
            if entry.kind is kind
            and service in entry.producers
            and entry.producers != self._catalogue.services
        ]

    def _messages(self) -> str:
        return _table(
            ("type", "kind", "sent by", "to exchange", "routing key", "handled by", "meaning"),
            (
                (
                    _code(entry.name),
                    entry.kind.value,
                    self._services(entry.producers),
                    _code(COMMANDS if entry.kind is MessageKind.COMMAND else self._catalogue.events),
                    _code(entry.queue if entry.kind is MessageKind.COMMAND else entry.name),
                    ", ".join(entry.consumers),
                    " ".join(entry.meaning),
                )
                for entry in self._catalogue.values()
            ),
        )

    def _exchanges(self) -> str:
        return _table(
            ("exchange", "takes", "routing key", "written by"),
            (
                (
                    _code(exchange),
                    *_EXCHANGES.get(exchange, _EVENTS),
                    self._services(
                        service
                        for service, permitted in self._permitted.items()
                        if exchange in permitted.routing_keys
                    ),
                )
                for exchange in self._described.exchanges
            ),
        )

    def _queues(self) -> str:
        readers = {
            queue: service for service, permitted in self._permitted.items() for queue in permitted.queues
        }
        described = self._described.queues
        table = _table(
            ("queue", "read by", "holds", "deliveries at most"),
            (
                (
                    _code(queue.name),
                    readers.get(queue.name, "nobody"),
                    self._held(queue.name),
                    f"{queue.arguments['x-delivery-limit']:,}",
                )
                for queue in described
            ),
        )
        work = next(queue for queue in described if queue.name == self._work[-1])
        arguments = ", ".join(f"`{name}: {value}`" for name, value in work.arguments.items())
        return (
            f"{table}\nThe arguments of `{work.name}`, and apart from the name those of every queue that is no dead-letter "
            f"queue: {arguments}. They never change: other arguments need a queue of another name.\n"
        )

    def _held(self, queue: str) -> str:
        if queue in self._work:
            return ", ".join(_code(entry.name) for entry in self._catalogue.values() if entry.queue == queue)
        origin = next(name for name in self._work if dead_letter_queue(name) == queue)
        return f"dead letters of `{origin}`"

    def _bindings(self) -> str:
        table = _table(
            ("exchange", "routing key", "queue"),
            (
                (_code(binding.exchange), _code(binding.routing_key), _code(binding.queue))
                for binding in self._described.bindings
            ),
        )
        former = self._catalogue.events_queue_formerly
        note = (
            f"\nWhere the routing key is {_codes(former)}, or that with `-dlq`, it is a former name of "
            f"`{self._catalogue.events_queue}`: retries and dead letters under it may still wait in an outbox. "
            "`python -m messaging topology` moves the messages of queues with these names.\n"
        )
        return table + note if former else table

    def _permissions(self) -> str:
        parts = [
            "## Permissions",
            "",
            "The permissions of each service's user at the broker. None may declare, bind or delete anything.",
            "",
            f"No queue is bound for the routing key {_code(NOWHERE)}: the doctor uses it to see that the broker returns messages.",
        ]
        for service, permitted in self._permitted.items():
            parts += ["", f"### {service}", "", f"Reads {_codes(permitted.queues)}.", ""]
            parts.append(
                _table(
                    ("writes to", "with the routing keys"),
                    ((_code(exchange), _codes(keys)) for exchange, keys in permitted.routing_keys.items()),
                ).rstrip("\n")
            )
        return "\n".join([*parts, ""])

    def _services(self, names: Iterable[str]) -> str:
        listed = tuple(names)
        return "every service" if listed == self._catalogue.services else ", ".join(listed)


def _exchange(name: str) -> str:
    return f"exchange_{_identifier(name)}"


def _queue(name: str) -> str:
    return f"queue_{_identifier(name)}"


def _identifier(name: str) -> str:
    # A hyphen may be read as the beginning of an arrow.
    return name.replace("-", "_")


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"
