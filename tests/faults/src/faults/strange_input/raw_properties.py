"""AMQP properties byte by byte, including values that our client library never sends.

The broker passes on everything that it can parse: texts that are no UTF-8, times past the year 9999, tables nested
thousands deep.
"""

import struct
from dataclasses import dataclass

_FLAGS = {
    "content_type": 1 << 15,
    "content_encoding": 1 << 14,
    "headers": 1 << 13,
    "delivery_mode": 1 << 12,
    "priority": 1 << 11,
    "correlation_id": 1 << 10,
    "reply_to": 1 << 9,
    "expiration": 1 << 8,
    "message_id": 1 << 7,
    "timestamp": 1 << 6,
    "type": 1 << 5,
    "app_id": 1 << 3,
    "cluster_id": 1 << 2,
}


@dataclass(frozen=True, slots=True)
class RawProperties:
    """The properties of one message; None leaves one out. Texts are bytes of at most 255."""

    headers: bytes | None = None
    """The inside of a table: `entry` after `entry`."""
    content_type: bytes | None = b"application/json"
    content_encoding: bytes | None = None
    delivery_mode: int | None = 2
    priority: int | None = None
    correlation_id: bytes | None = None
    reply_to: bytes | None = None
    expiration: bytes | None = None
    timestamp: int | None = None
    type: bytes | None = None
    app_id: bytes | None = None
    cluster_id: bytes | None = None

    def encode(self, message_id: bytes) -> bytes:
        """The property list of a content header, flags first (AMQP 0-9-1, section 4.2.6.1)."""
        flags, parts = 0, b""
        for name, flag in _FLAGS.items():
            value = message_id if name == "message_id" else getattr(self, name)
            if value is None:
                continue
            flags |= flag
            match name:
                case "headers":
                    parts += long_text(value)
                case "delivery_mode" | "priority":
                    parts += struct.pack(">B", value)
                case "timestamp":
                    parts += struct.pack(">Q", value)
                case _:
                    parts += short_text(value)
        return struct.pack(">H", flags) + parts


def short_text(value: bytes) -> bytes:
    return struct.pack(">B", len(value)) + value


def long_text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def entry(name: bytes, value: bytes) -> bytes:
    """One member of a table; `value` begins with the letter of its type."""
    return short_text(name) + value


def text(value: bytes) -> bytes:
    return b"S" + long_text(value)


def integer(value: int) -> bytes:
    """Any signed number of 64 bits."""
    return b"l" + struct.pack(">q", value)


def moment(seconds: int) -> bytes:
    return b"T" + struct.pack(">Q", seconds)


def table(*entries: bytes) -> bytes:
    return b"F" + long_text(b"".join(entries))


def array(*values: bytes) -> bytes:
    return b"A" + long_text(b"".join(values))


def nested(depth: int, *, arrays: bool) -> bytes:
    """Tables (or arrays) inside tables, `depth` deep."""
    value = array() if arrays else table()
    for _ in range(depth):
        value = array(value) if arrays else table(entry(b"a", value))
    return value
