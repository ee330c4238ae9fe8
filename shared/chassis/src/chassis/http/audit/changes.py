"""Reduces a change to the fields that differ. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from chassis import redaction

Document: TypeAlias = Mapping[str, Any]
MAX_VALUE: Final = 1_000
"""Bytes of a field as JSON; longer ones are replaced by their hash."""
MAX_DOCUMENT: Final = 8_000
"""Bytes of all fields of one side."""


def difference(
    before: Document | None, after: Document | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the differing fields of both sides, or all fields of the only side; secrets are hidden."""
    if before is None or after is None:
        return _kept(before), _kept(after)
    return _kept(_differing(before, after)), _kept(_differing(after, before))


def _differing(document: Document, other: Document) -> dict[str, Any]:
    """Return the fields that differ, recursively for nested objects."""
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
    """Return hash and size, in place of content that is too large or not JSON."""
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
