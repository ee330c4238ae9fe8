"""Generators of AMQP properties and headers that a stranger may send along; see `raw_properties` for the bytes."""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from faults.strange_input import raw_properties as raw
from faults.strange_input.raw_properties import RawProperties

_LARGEST: Final = 2**63 - 1
_FRAME: Final = 120_000

_numbers: Final = st.sampled_from([0, 1, 2, -1, 5, 6, 2**31, _LARGEST, -_LARGEST]) | st.integers(
    -_LARGEST, _LARGEST
)
_bytes: Final = st.binary(max_size=40) | st.sampled_from(
    [b"\0", b"\xff\xfe", b"", b"9" * 5000, b"\xed\xa0\x80"]
)

_names: Final = st.text(st.characters(codec="utf-8"), max_size=10).map(str.encode)

_values: Final = st.recursive(
    st.one_of(
        _numbers.map(raw.integer),
        _bytes.map(raw.text),
        st.binary(max_size=10).map(lambda data: b"x" + raw.long_text(data)),
        st.sampled_from(
            [b"V", b"t\x01", b"t\x00", b"D\xff\xff\xff\xff\xff", b"b\x80", b"s\x80\x00", b"u\xff\xff"]
        ),
        # Erlang has no NaN and no infinity: the broker refuses those at the door.
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: b"d" + struct.pack(">d", number)),
        st.sampled_from([0, 1, 2**32, 2**40, 2**47]).map(raw.moment),
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: raw.array(*values))
        | st.lists(st.builds(raw.entry, st.binary(max_size=10), inner), max_size=3).map(
            lambda entries: raw.table(*entries)
        )
    ),
    max_leaves=6,
)
_nested: Final = st.builds(raw.nested, st.sampled_from([30, 150, 250, 400, 3000]), arrays=st.booleans())
_giant: Final = st.integers(1_000, 100_000).map(lambda size: raw.text(b"s3cret-4711" * (size // 11)))

_OURS: Final = (
    "attempt",
    "replay-of",
    "traceparent",
    "tracestate",
    "failure-reason",
    "failure-type",
    "failure-message",
    "failure-stack",
    "failure-attempts",
    "failure-first-at",
    "failure-last-at",
    "failure-service",
    "failure-queue",
    "failure-code",
    "failure-version",
)
_plausible: Final = st.sampled_from(
    [
        raw.text(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        raw.text(b"00-00000000000000000000000000000000-0000000000000000-ff"),
        raw.text(b"exhausted"),
        raw.text(b"delivery_limit"),
        raw.text(b"0001-01-01T00:00:00+23:59"),
        raw.text(b"9999-12-31T23:59:59.999999-23:59"),
        raw.text(b"2026-01-01"),
        raw.text(b"01890a5d-ac96-774b-bcce-b302099a8057"),
        raw.text(b"s3cret-4711"),
    ]
)
_ours: Final = st.builds(
    raw.entry,
    st.sampled_from([name.encode() for name in _OURS]),
    st.one_of(_plausible, _plausible, _values, _numbers.map(raw.integer)),
)
# What the broker itself writes: forged here. RabbitMQ 3.10 does not survive an `x-death` whose entries are not as its
# own, once it has to dead-letter that message (`rabbit_dead_letter`, function_clause); so it must never have to.
_broker: Final = st.builds(
    raw.entry,
    st.sampled_from(
        [b"x-death", b"x-delivery-count", b"x-first-death-queue", b"x-first-death-reason", b"x-exception"]
    ),
    _plausible | _values,
)
# The client library cannot read some of these: a name that is no UTF-8, times past the year 9999, tables that deep.
_strangers: Final = st.builds(raw.entry, _names | _names | st.binary(max_size=40), _values | _nested | _giant)
_unreadable: Final = st.sampled_from(
    [
        raw.entry(b"\xff\xfe", b"V"),
        raw.entry(b"when", raw.moment(2**64 - 1)),
        raw.entry(b"attempt", raw.moment(2**62)),
    ]
)


def _within_a_frame(entries: Sequence[bytes]) -> bytes:
    """As many of them as fit: a frame holds 128 KiB."""
    headers = b""
    for entry in entries:
        if len(headers) + len(entry) < _FRAME:
            headers += entry
    return headers


_short: Final = st.none() | _names | st.sampled_from([b"s" * 255, b"\0", b"\xff\xfe"])
_types: Final = _short | st.sampled_from([b"research.requested", b"social.posted", b"dead_letter.received"])


def _with_headers(entries: SearchStrategy[bytes]) -> SearchStrategy[RawProperties]:
    headers = st.lists(entries, min_size=1, max_size=4).map(_within_a_frame)
    return st.builds(RawProperties, headers=headers)


PROPERTIES: Final[Mapping[str, SearchStrategy[RawProperties]]] = {
    "none": st.just(RawProperties()),
    "ours, forged": _with_headers(_ours | _broker),
    "of a stranger": _with_headers(_ours | _strangers),
    "unreadable": _with_headers(_ours | _unreadable),
    "strange fields": st.builds(
        RawProperties,
        content_type=_short,
        content_encoding=_short,
        # The broker refuses other modes at the door.
        delivery_mode=st.sampled_from([None, 1, 2]),
        priority=st.sampled_from([None, 0, 255]),
        correlation_id=_short,
        reply_to=_short,
        expiration=st.sampled_from([None, b"86400000"]),
        timestamp=st.sampled_from([None, 0, 2**32, 2**62, 2**64 - 1]),
        type=_types,
        app_id=_short,
        cluster_id=_short,
    ),
}
