"""Files of envelopes, one JSON document a line, with which every queue is filled."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from envelope import DomainMessage, EnvelopeHead, encode, new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging.storage.outbox import OutboxRow
from messaging.topology import COMMANDS

QUEUE: Final = "research-commands"
TYPE: Final = "research.requested"
DUPLICATES_AFTER: Final = 1000
"""The distance of a copy from its original, at most: in lines of the file."""
_SEED: Final = 20_240


@dataclass(frozen=True, slots=True)
class MessageFile:
    """A file of `lines` envelopes with `unique` different ones; number n first appears at line `firsts[n]`."""

    path: Path
    lines: int
    unique: int
    firsts: Sequence[int]

    def lines_before(self, unique: int) -> int:
        """The number of lines before the first copy of message number `unique` (from 0)."""
        return self.firsts[unique] if unique < self.unique else self.lines


def envelope(number: int, made_at: datetime, *, event_id: UUID | None = None) -> bytes:
    """One envelope of about 350 bytes."""
    event_id = event_id or new_event_id()
    message = DomainMessage[ResearchRequested](
        event_id=event_id,
        type=TYPE,
        source="orchestrator",
        timestamp=made_at,
        correlation_id=str(event_id),
        payload=ResearchRequested(
            brand_slug=f"brand-{number % 50:02d}",
            keyword=f"{number:08d} a keyword of about the length that people search for, in a few words",
        ),
    )
    return encode(message)


def row_of(body: bytes) -> OutboxRow:
    """The part of an envelope that our publisher takes."""
    head = EnvelopeHead.model_validate_json(body)
    return OutboxRow(COMMANDS, QUEUE, head.event_id, TYPE, head.correlation_id, body)


def write(path: Path, unique: int, *, duplicates: float = 0.0) -> MessageFile:
    """Writes `unique` envelopes; `duplicates` is the share of all lines that are copies of earlier ones."""
    copies = round(unique * duplicates / (1 - duplicates))
    order = order_with_copies(unique, copies)
    bodies = [envelope(number, datetime.now(UTC)) for number in range(unique)]
    with path.open("wb") as file:
        file.writelines(bodies[number] + b"\n" for number in order)
    return MessageFile(path, len(order), unique, firsts(order))


def order_with_copies(unique: int, copies: int) -> list[int]:
    """The numbers 0 … unique-1 in order, with copies of some soon after; the last line is no copy."""
    rng = random.Random(_SEED)
    originals = (
        rng.sample(range(unique), copies) if copies <= unique else rng.choices(range(unique), k=copies)
    )
    # An original keeps its number as its place; a copy comes somewhat later, but before the last original.
    places = [(float(number), number) for number in range(unique)]
    for number in originals:
        latest = min(number + DUPLICATES_AFTER, unique - 1)
        places.append((rng.uniform(number, latest) if latest > number else number - 0.5, number))
    return [number for _, number in sorted(places)]


def firsts(order: Iterable[int]) -> list[int]:
    """The first line of each number, in ascending order."""
    seen: set[int] = set()
    found = []
    for place, number in enumerate(order):
        if number not in seen:
            seen.add(number)
            found.append(place)
    return found
