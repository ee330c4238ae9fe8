"""The answers of a reading process. JSON, as unpickling would let a compromised process run code in its caller."""

import json
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Final

from documents.json_form import encode_section
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
    sections = answer.document.sections if answer.document else None
    if answer.document is not None:
        answer = replace(answer, document=replace(answer.document, sections=None))
    value = asdict(answer) | {"sections": encode_section(sections) if sections else None}
    text = json.dumps(value, default=date.isoformat).encode()
    return len(text).to_bytes(SIZE_BYTES, "big") + text
