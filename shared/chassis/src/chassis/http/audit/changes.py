"""What a change was, in few words: the fields that differ. No input or output."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from chassis import redaction

Document: TypeAlias = Mapping[str, Any]
MAX_VALUE: Final = 1_000
"""Bytes of a field as JSON; of a longer one its hash is kept, by which it can be recognised."""
MAX_DOCUMENT: Final = 8_000
"""Bytes of all fields of one side together."""


def difference(
    before: Document | None, after: Document | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The fields that are not the same on both sides, or all of the side that there is; nothing of it is a secret."""
    if before is None or after is None:
        return _kept(before), _kept(after)
    return _kept(_differing(before, after)), _kept(_differing(after, before))


def _differing(document: Document, other: Document) -> dict[str, Any]:
    """What is otherwise there; of what is made of fields itself, those."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if name in other and value == other[name]:
            continue
        elsewhere = other.get(name)
        if isinstance(value, Mapping) and isinstance(elsewhere, Mapping):
            value = _differing(value, elsewhere)  # noqa: PLW2901  (what is kept of it)
        found[name] = value
    return found


def hashed(content: bytes) -> dict[str, Any]:
    """Stands for what is too large to be kept, or is no document."""
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _kept(document: Document | None) -> dict[str, Any] | None:
    if document is None:
        return None
    shown: dict[str, Any] = redaction.anything(document)
    small = {name: _small(value, MAX_VALUE) for name, value in shown.items()}
    kept: dict[str, Any] = _small(small, MAX_DOCUMENT)
    return kept


def _small(value: Any, most: int) -> Any:
    written = json.dumps(value, sort_keys=True).encode()
    return hashed(written) if len(written) > most else value
