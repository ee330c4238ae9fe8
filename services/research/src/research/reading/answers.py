"""What a reading process says of a document. JSON, for what a hostile file has taken over must not be unpickled."""

import json
from dataclasses import asdict, dataclass
from datetime import date
from typing import Final

from research.domain import Document
from research.reading.feeds import Entry

SIZE_BYTES: Final = 4
"""Each answer comes after its length in bytes, a big-endian number of this size."""
READY: Final = b"!"
"""What the process says first, once it can take documents."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The document, or the entries of a feed; or what is wrong with the file; or why reading it was given up, which would end like that again.

    `worn`: the process makes room for a fresh one.
    """

    document: Document | None = None
    entries: tuple[Entry, ...] | None = None
    problem: str | None = None
    refusal: str | None = None
    worn: bool = False


def encode(answer: Answer) -> bytes:
    """The answer as it is sent, with its length."""
    text = json.dumps(asdict(answer), default=date.isoformat).encode()
    return len(text).to_bytes(SIZE_BYTES, "big") + text
