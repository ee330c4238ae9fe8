"""The answers of a reading process. JSON, as unpickling would let a compromised process run code in its caller."""

import json
from dataclasses import asdict, dataclass
from datetime import date
from typing import Final

from reading.document import ExtractedDocument
from reading.feeds import FeedEntry

SIZE_BYTES: Final = 4
"""Each answer comes after its length in bytes, a big-endian number of this size."""
READY: Final = b"!"
"""First output of the process: it is ready for documents."""


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """One of: the document; the entries of a feed; the `problem` of the file; the `refusal` to read it again.

    `worn`: the pool replaces the process.
    """

    document: ExtractedDocument | None = None
    entries: tuple[FeedEntry, ...] | None = None
    problem: str | None = None
    refusal: str | None = None
    worn: bool = False


def encode(answer: ReaderAnswer) -> bytes:
    """Return the answer as JSON bytes, after its length."""
    text = json.dumps(asdict(answer), default=date.isoformat).encode()
    return len(text).to_bytes(SIZE_BYTES, "big") + text
