"""Lays the picture of the topology out. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 1080
_PRODUCERS, _EXCHANGES, _QUEUES, _CONSUMERS = 0, 290, 570, 920
"""Left edges of the columns."""
_WIDTHS: Final = {_PRODUCERS: 150, _EXCHANGES: 130, _QUEUES: 210, _CONSUMERS: 160}
_ROW: Final = 72
_NODE: Final = 48
_TOP: Final = 34
_APART: Final = 12
"""Between two edges that leave one node."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    kind: str
    """`service`, `exchange` or `queue`."""
    x: int
    y: int
    width: int
    ready: int | None = None
    """Messages that wait in a queue; None: unknown, or no queue."""
    is_known: bool = True
    """Whether the service that knows the figures answered."""
    is_paused: bool = False

    @property
    def middle(self) -> int:
        return self.y + _NODE // 2


@dataclass(frozen=True, slots=True)
class Edge:
    path: str
    """Of an SVG path."""
    rate: float | None
    """Messages in a minute; None: unknown."""
    x: int
    """Where the figure stands."""
    y: int
    anchor: str
    """`start` or `end` of its text."""
    is_dead: bool = False
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A line of the table, which says all that the picture does."""

    queue: str
    exchange: str
    senders: tuple[tuple[str, tuple[str, ...]], ...]
    """Service and the types that it may send."""
    consumer: str
    ready: int | None
    arrived: float | None
    left: float | None
    dead: int | None
    """Messages in its dead-letter queue."""
    is_paused: bool


@dataclass(frozen=True, slots=True)
class Picture:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    lines: tuple[QueueLine, ...]
    sent: tuple[tuple[str, str, float | None], ...]
    """Service, exchange, messages in a minute."""
    width: int
    height: int
    node_height: int = _NODE


def draw(topology: Mapping[str, Any], parts: Mapping[str, Any]) -> Picture:
    """Draws the routes of the catalogue with the figures of the services that answered."""
    known = {
        each["queue"]: each for part in parts.values() if isinstance(part, Mapping) for each in part["queues"]
    }
    sent = _sent(parts, topology["exchanges"])
    producers = _column(list(dict.fromkeys(each["producer"] for each in topology["sent"])), _PRODUCERS)
    queues = [each["queue"] for each in topology["queues"]]
    rows = max(len(producers), len(queues) + 1)
    exchanges = _spread(list(topology["exchanges"]), rows - 1)
    consumers = _consumers(topology)
    nodes: list[Node] = [*producers.values(), *exchanges.values(), *consumers.values()]
    edges: list[Edge] = []
    for place, queue in enumerate(queues):
        node = _queue_node(queue, place, known.get(queue))
        nodes.append(node)
        exchange = next((each["exchange"] for each in topology["sent"] if each["queue"] == queue), None)
        if exchange is not None:
            edges.append(_to_queue(exchanges[exchange], node, known.get(queue)))
        consumer = next(each["consumer"] for each in topology["queues"] if each["queue"] == queue)
        edges.append(_from_queue(node, consumers[consumer], known.get(queue)))
    for name, producer in producers.items():
        own = list(dict.fromkeys(each["exchange"] for each in topology["sent"] if each["producer"] == name))
        edges += [
            _from_producer(producer, exchanges[exchange], sent.get((name, exchange)), place, len(own))
            for place, exchange in enumerate(own)
        ]
    if topology["recorder"] is not None:
        nodes, edges = _with_dead_letters(topology, known, nodes, edges, consumers, len(queues))
    return Picture(
        tuple(nodes),
        tuple(edges),
        tuple(_line(each, topology, known) for each in topology["queues"]),
        tuple(
            (each, exchange, sent.get((each, exchange)))
            for each in dict.fromkeys(route["producer"] for route in topology["sent"])
            for exchange in exchanges
            if any((route["producer"], route["exchange"]) == (each, exchange) for route in topology["sent"])
        ),
        WIDTH,
        _TOP + rows * _ROW,
    )


def _sent(parts: Mapping[str, Any], exchanges: Sequence[str]) -> dict[tuple[str, str], float | None]:
    found: dict[tuple[str, str], float | None] = {}
    for service, part in parts.items():
        recorded = part.get("sent") if isinstance(part, Mapping) else None
        if recorded is None:
            continue
        found |= {(service, exchange): 0.0 for exchange in exchanges}
        found |= {(service, each["exchange"]): each["per_minute"] for each in recorded}
    return found


def _column(names: Sequence[str], x: int) -> dict[str, Node]:
    return {
        name: Node(name, "service", x, _TOP + place * _ROW, _WIDTHS[x]) for place, name in enumerate(names)
    }


def _spread(names: Sequence[str], rows: int) -> dict[str, Node]:
    """Exchanges, each in the middle of its share of the height."""
    share = rows * _ROW / max(len(names), 1)
    return {
        name: Node(
            name,
            "exchange",
            _EXCHANGES,
            round(_TOP + share * (place + 0.5) - _NODE / 2),
            _WIDTHS[_EXCHANGES],
        )
        for place, name in enumerate(names)
    }


def _consumers(topology: Mapping[str, Any]) -> dict[str, Node]:
    """Each consumer at the height of the middle of its queues."""
    places: dict[str, list[int]] = {}
    for place, each in enumerate(topology["queues"]):
        places.setdefault(each["consumer"], []).append(place)
    return {
        name: Node(name, "service", _CONSUMERS, _TOP + round(sum(own) / len(own) * _ROW), _WIDTHS[_CONSUMERS])
        for name, own in _apart(places).items()
    }


def _apart(places: Mapping[str, Sequence[int]]) -> dict[str, list[float]]:
    """Moves a consumer with several queues to the first of them, where another would stand in its middle."""
    taken: set[float] = set()
    found: dict[str, list[float]] = {}
    for name, own in sorted(places.items(), key=lambda each: len(each[1])):
        middle = sum(own) / len(own)
        if any(abs(middle - other) < 1 for other in taken):
            middle = float(own[0])
        taken.add(middle)
        found[name] = [middle]
    return {name: found[name] for name in places}


def _queue_node(queue: str, place: int, known: Mapping[str, Any] | None) -> Node:
    return Node(
        queue,
        "queue",
        _QUEUES,
        _TOP + place * _ROW,
        _WIDTHS[_QUEUES],
        ready=None if known is None else known["ready"],
        is_known=known is not None,
        is_paused=_is_paused(known),
    )


def _is_paused(known: Mapping[str, Any] | None) -> bool:
    return known is not None and known.get("pause") is not None


def _curve(x1: int, y1: int, x2: int, y2: int) -> str:
    middle = (x1 + x2) // 2
    return f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"


def _from_producer(producer: Node, exchange: Node, rate: float | None, place: int, count: int) -> Edge:
    y = producer.middle + round((place - (count - 1) / 2) * 2 * _APART)
    start = producer.x + producer.width
    return Edge(_curve(start, y, exchange.x, exchange.middle), rate, start + 6, y - 4, "start")


def _to_queue(exchange: Node, queue: Node, known: Mapping[str, Any] | None) -> Edge:
    path = _curve(exchange.x + exchange.width, exchange.middle, queue.x, queue.middle)
    rate = None if known is None else known.get("in_per_minute")
    return Edge(path, rate, queue.x - 6, queue.middle - 5, "end")


def _from_queue(queue: Node, consumer: Node, known: Mapping[str, Any] | None) -> Edge:
    start = queue.x + queue.width
    path = _curve(start, queue.middle, consumer.x, consumer.middle)
    rate = None if known is None else known.get("out_per_minute")
    return Edge(path, rate, start + 6, queue.middle - 5, "start", is_paused=queue.is_paused)


def _with_dead_letters(
    topology: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    consumers: Mapping[str, Node],
    place: int,
) -> tuple[list[Node], list[Edge]]:
    """Adds one node for all dead-letter queues, and the edges to and from it."""
    y = _TOP + place * _ROW
    parts = [known.get(each["dead_letter_queue"]) for each in topology["queues"]]
    ready = _total([None if each is None else each["ready"] for each in parts])
    arrived = _total([None if each is None else each.get("in_per_minute") for each in parts])
    left = _total([None if each is None else each.get("out_per_minute") for each in parts])
    exchange = Node(topology["dead_letters"], "exchange", _EXCHANGES, y, _WIDTHS[_EXCHANGES])
    queue = Node(
        "*-dlq",
        "queue",
        _QUEUES,
        y,
        _WIDTHS[_QUEUES],
        None if ready is None else int(ready),
        any(each is not None for each in parts),
    )
    drawn: list[Edge] = [
        Edge(
            _curve(exchange.x + exchange.width, exchange.middle, queue.x, queue.middle),
            arrived,
            queue.x - 6,
            queue.middle - 5,
            "end",
            is_dead=True,
        )
    ]
    recorder = consumers.get(topology["recorder"])
    if recorder is not None:
        start = queue.x + queue.width
        drawn.append(
            Edge(
                _curve(start, queue.middle, recorder.x, recorder.middle + _APART),
                left,
                start + 6,
                queue.middle - 5,
                "start",
                is_dead=True,
            )
        )
    return [*nodes, exchange, queue], [*edges, *drawn]


def _total(values: Sequence[float | None]) -> float | None:
    told = [each for each in values if each is not None]
    return sum(told) if told else None


def _line(
    consumed: Mapping[str, Any], topology: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]
) -> QueueLine:
    queue = consumed["queue"]
    routes = [each for each in topology["sent"] if each["queue"] == queue]
    found, dead = known.get(queue), known.get(consumed["dead_letter_queue"])
    return QueueLine(
        queue,
        routes[0]["exchange"] if routes else "",
        tuple((each["producer"], tuple(each["types"])) for each in routes),
        consumed["consumer"],
        None if found is None else found["ready"],
        None if found is None else found.get("in_per_minute"),
        None if found is None else found.get("out_per_minute"),
        None if dead is None else dead["ready"],
        _is_paused(found),
    )
