"""The topology as a page to read: pictures and tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Final

from envelope.catalogue import CATALOGUE, EVENTS_QUEUE, SERVICES, Kind
from messaging import permissions, topology
from messaging.topology import COMMANDS, DEAD_LETTERS, EVENTS, RETURNS, dead_letter_queue, work_queues

_HEAD: Final = """\
<!-- Made by `make schemas` from the catalogue, the topology and the permissions: what is changed here is lost. -->

# Topology

Every exchange and queue of the system, what travels through it, and who may put it there or take it out.
`python -m messaging topology` declares them, `python -m messaging users` makes the users with these permissions; services
declare nothing. The messages themselves, with their fields and examples, are in [`asyncapi.json`](asyncapi.json), an
AsyncAPI 3.0.0 document.
"""

_FAILURES: Final = f"""\
## When a message fails

The same for every queue that a service works on.

```mermaid
flowchart LR
    work[(its queue)] --> service([its service])
    service -- "again, later" --> returns{{{{{RETURNS}}}}}
    returns --> work
    service -- "given up, with the facts" --> dead{{{{{DEAD_LETTERS}}}}}
    work -. "no envelope, or delivered too often" .-> dead
    dead --> dlq[("its queue-dlq")]
    dlq --> monitor([{permissions.RECORDER}])
    monitor -- "replay" --> returns
```
"""

_EXCHANGES: Final = {
    COMMANDS: ("commands", "the queue of the service that carries it out"),
    EVENTS: ("events", "the event's type"),
    RETURNS: ("retries and replays", "the queue it goes back to"),
    DEAD_LETTERS: ("what has failed for good", "the queue it died in"),
}


def render() -> str:
    """The page, as Markdown with pictures in Mermaid."""
    sections = (
        _HEAD,
        "## The way of a message\n\n" + _picture(),
        _FAILURES,
        "## Messages\n\n" + _messages(),
        "## Exchanges\n\nAll durable, of type `topic`.\n\n" + _exchanges(),
        "## Queues\n\nAll durable quorum queues.\n\n" + _queues(),
        "## Bindings\n\n" + _bindings(),
        _permissions(),
    )
    return "\n".join(sections)


def _picture() -> str:
    lines = ["```mermaid", "flowchart LR"]
    lines += [f"    {service}([{service}])" for service in SERVICES]
    lines += [f"    {_exchange(name)}{{{{{name}}}}}" for name in (COMMANDS, EVENTS)]
    lines += [f"    {_queue(name)}[({name})]" for name in work_queues()]
    for service in SERVICES:
        for kind, exchange in ((Kind.COMMAND, COMMANDS), (Kind.EVENT, EVENTS)):
            sent = _drawn(service, kind)
            if sent:
                lines.append(f'    {service} -- "{"<br/>".join(sent)}" --> {_exchange(exchange)}')
    lines += [
        f"    {_exchange(binding.exchange)} --> {_queue(binding.queue)}"
        for binding in topology.describe().bindings
        if binding.exchange in (COMMANDS, EVENTS)
    ]
    lines += [
        f"    {_queue(queue)} --> {service}"
        for service, permitted in permissions.describe().items()
        for queue in permitted.queues
        if queue in work_queues()
    ]
    everybodys = [entry.name for entry in CATALOGUE.values() if entry.producers == SERVICES]
    note = f"\nNot drawn: every service also sends {_codes(everybodys)}.\n" if everybodys else ""
    return "\n".join([*lines, "```\n"]) + note


def _drawn(service: str, kind: Kind) -> list[str]:
    """What an edge of the picture carries. What every service sends would only make the picture dense."""
    return [
        entry.name
        for entry in CATALOGUE.values()
        if entry.kind is kind and service in entry.producers and entry.producers != SERVICES
    ]


def _exchange(name: str) -> str:
    return f"exchange_{_identifier(name)}"


def _queue(name: str) -> str:
    return f"queue_{_identifier(name)}"


def _identifier(name: str) -> str:
    # A hyphen may be read as the beginning of an arrow.
    return name.replace("-", "_")


def _messages() -> str:
    return _table(
        ("type", "kind", "sent by", "to exchange", "routing key", "handled by", "meaning"),
        (
            (
                _code(entry.name),
                entry.kind.value,
                _services(entry.producers),
                _code(COMMANDS if entry.kind is Kind.COMMAND else EVENTS),
                _code(entry.queue if entry.kind is Kind.COMMAND else entry.name),
                ", ".join(entry.consumers),
                (entry.payload.__doc__ or "").strip(),
            )
            for entry in CATALOGUE.values()
        ),
    )


def _exchanges() -> str:
    return _table(
        ("exchange", "takes", "routing key", "written by"),
        (
            (
                _code(exchange),
                *_EXCHANGES[exchange],
                _services(
                    service
                    for service, permitted in permissions.describe().items()
                    if exchange in permitted.routing_keys
                ),
            )
            for exchange in topology.describe().exchanges
        ),
    )


def _queues() -> str:
    readers = {
        queue: service for service, permitted in permissions.describe().items() for queue in permitted.queues
    }
    described = topology.describe().queues
    table = _table(
        ("queue", "read by", "holds", "deliveries at most"),
        (
            (
                _code(queue.name),
                readers[queue.name],
                _held(queue.name),
                f"{queue.arguments['x-delivery-limit']:,}",
            )
            for queue in described
        ),
    )
    work = next(queue for queue in described if queue.name == EVENTS_QUEUE)
    arguments = ", ".join(f"`{name}: {value}`" for name, value in work.arguments.items())
    return (
        f"{table}\nThe arguments of `{EVENTS_QUEUE}`, and but for the name those of every queue that is no dead-letter queue: "
        f"{arguments}. They never change: what needs others is a queue of another name.\n"
    )


def _held(queue: str) -> str:
    if queue in work_queues():
        return ", ".join(_code(entry.name) for entry in CATALOGUE.values() if entry.queue == queue)
    origin = next(name for name in work_queues() if dead_letter_queue(name) == queue)
    return f"dead letters of `{origin}`"


def _bindings() -> str:
    return _table(
        ("exchange", "routing key", "queue"),
        (
            (_code(binding.exchange), _code(binding.routing_key), _code(binding.queue))
            for binding in topology.describe().bindings
        ),
    )


def _permissions() -> str:
    parts = [
        "## Permissions",
        "",
        "What the broker lets each service's user do. None may declare, bind or delete anything.",
    ]
    for service, permitted in permissions.describe().items():
        parts += ["", f"### {service}", "", f"Reads {_codes(permitted.queues)}.", ""]
        parts.append(
            _table(
                ("writes to", "with the routing keys"),
                ((_code(exchange), _codes(keys)) for exchange, keys in permitted.routing_keys.items()),
            ).rstrip("\n")
        )
    return "\n".join([*parts, ""])


def _services(names: Iterable[str]) -> str:
    listed = tuple(names)
    return "every service" if listed == SERVICES else ", ".join(listed)


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"
