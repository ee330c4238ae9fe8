"""CloudEvents in HTTP's binary content mode: attributes are headers (`ce-id`), and the body is the data alone. Pure: no I/O."""

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes

_PREFIX: Final = "ce-"
_ATTRIBUTES: Final = ("specversion", "id", "source", "type", "time")
"""The attributes that commands use; extensions are ignored."""
_MARKS: Final = ("specversion", "id", "source", "type")
"""Any of these headers shows the binary mode, so that a sender that forgets one learns which."""
_ESCAPED: Final = re.compile(r"\\(.)")


def as_cloud_event(headers: Sequence[tuple[bytes, bytes]], body: dict[str, Any]) -> dict[str, Any]:
    """Returns the CloudEvent in its JSON form if the request has the binary mode, and the body itself otherwise.

    A body that is a CloudEvent already is left alone: then such headers mean nothing, as the HTTP binding says. An attribute that is
    no UTF-8 becomes None.

    Args:
        headers: as they were sent; names are in lower case, as ASGI has them.
        body: JSON of the request.
    """
    if "specversion" in body:
        return body
    given: dict[str, list[bytes]] = {}
    for name, value in headers:
        given.setdefault(name.decode("latin-1"), []).append(value)
    if not any(_PREFIX + each in given for each in _MARKS):
        return body
    attributes = {
        # A field that is sent twice means both values, with a comma (RFC 9110, 5.3).
        each: _decoded(b", ".join(given[_PREFIX + each]))
        for each in _ATTRIBUTES
        if _PREFIX + each in given
    }
    # Named also without its header: a message without `specversion` would count as an envelope.
    return {"specversion": None} | attributes | {"data": body}


def _decoded(value: bytes) -> str | None:
    """The value of an attribute: quoted strings are unquoted first, then percent-encoded UTF-8 is decoded."""
    text = value.decode("latin-1").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = _ESCAPED.sub(r"\1", text[1:-1])
    try:
        return unquote_to_bytes(text.encode("latin-1")).decode()
    except UnicodeDecodeError:
        return None
