"""Generators of invalid messages and of odd but valid ones, with the expected result of each.

Hypothesis strategies, so that one failing message can be found again from its seed.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from envelope import MAX_MESSAGE_BYTES, DeadLetterEdited, DeadLetterResolved, MessageType
from envelope.brand import CATALOGUE
from envelope.brand.payloads import MAX_QUESTIONS
from faults.strange_input.raw_properties import RawProperties

SECRET: Final = "s3cret-4711"
"""Part of every strange value: no reason for a dead letter may repeat it."""

FAILS: Final = UUID(int=0xFA115)
"""A `causation_id` whose messages the recording handlers fail for a passing reason, each time."""
HOPELESS: Final = UUID(int=0x40BE1E55)
"""A `causation_id` whose messages the recording handlers give up on at once."""


class ExpectedEnd(StrEnum):
    EFFECT = "effect"
    DEATH = "dead letter"
    EITHER = "effect or dead letter"


@dataclass(frozen=True, slots=True)
class StrangeMessage:
    """A message, sent `copies` times, and its expected result."""

    what: str
    """What is strange about it."""
    queue: str
    body: bytes
    expected: ExpectedEnd
    event_id: UUID | None
    """What its copies are known by; None if no envelope can be read from it: then each copy is a message of its own."""
    names: tuple[str, ...] = ()
    """A reason for its death contains one of these."""
    properties: RawProperties = field(default_factory=RawProperties)
    copies: int = 1
    stamp: UUID | None = None
    """The `event_id` that was written into it, whether or not anybody can read it."""

    @property
    def outcomes(self) -> int:
        return 1 if self.event_id is not None else self.copies


@dataclass(frozen=True, slots=True)
class SoundMessage:
    """A message as it should be, as a JSON document, before something is done to it."""

    entry: MessageType
    event_id: UUID
    document: dict[str, Any]

    def becomes(
        self,
        what: str,
        document: Mapping[str, Any],
        expected: ExpectedEnd,
        *names: str,
        envelope: bool = True,
    ) -> StrangeMessage:
        return self.written(what, _json(document), expected, *names, envelope=envelope)

    def written(
        self, what: str, body: bytes, expected: ExpectedEnd, *names: str, envelope: bool = True
    ) -> StrangeMessage:
        identity = self.event_id if envelope else None
        name = f"{self.entry.name}: {what}"
        return StrangeMessage(name, self.entry.queue, body, expected, identity, names, stamp=self.event_id)


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


# -- sound messages ----------------------------------------------------------------------------------------------------

# Any version: ours are 7, a stranger's need not be. Hypothesis would repeat itself; these hardly ever do.
_uuids: Final = st.randoms(use_true_random=False).map(lambda random: UUID(int=random.getrandbits(128)))
_text: Final = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
_some_text: Final = _text.filter(bool)
_slugs: Final = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
_identities: Final = _uuids.map(str)
_codes: Final = st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True)
_urls: Final = _some_text.map(lambda text: f"https://example.test/{quote(text)}")

_timestamps: Final = st.datetimes().map(lambda time: time.isoformat() + "Z") | st.sampled_from(
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59.999999-23:59",
        "2024-02-29T23:59:59-00:01",
    ]
)

_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "brand_slug": _slugs,
    "keyword": _some_text,
    "priority": st.sampled_from(["high", "normal", "low"]),
    "open_questions": st.fixed_dictionaries(
        {"answers_id": _identities, "questions": st.lists(_some_text, min_size=1, max_size=MAX_QUESTIONS)}
    ),
    "research_id": _identities,
    "content_id": _identities,
    "erasure_id": _identities,
    "service": _some_text,
    "elsewhere": st.lists(_some_text, max_size=20),
    "tags": st.lists(_some_text, max_size=20),
    "elsewhere_count": st.integers(0, 2**31 - 1),
    "removed": st.dictionaries(_codes, st.integers(0, 2**31 - 1), max_size=10),
    "dead_event_id": _identities,
    "edited_event_id": _identities,
    "edited_at": _timestamps,
    "edited_by": _text,
    "content": st.dictionaries(_some_text, _text, max_size=5),
    "replay_event_id": _identities,
    "reason": _codes,
    "detail": _text,
    "word_count": st.integers(0, 2**31 - 1),
    "target": _some_text,
    "canonical_url": _urls,
    "overwrite": st.booleans(),
    "platform": _some_text,
    "queue": _some_text,
    "message_type": _text,
    "revision": st.integers(2, 2**31 - 1),
    "comment": _text,
    "waits_for": _some_text,
    "until": _timestamps,
    "kept_until": _timestamps,
    "asked_since": _timestamps,
    "covers_until": _timestamps,
    "finished_at": _timestamps,
    "finished_by": _identities,
    "work_id": _identities,
    "work_ids": st.lists(_identities, max_size=20),
    "known_posts": st.lists(st.fixed_dictionaries({"platform": _some_text, "post_url": _urls}), max_size=20),
    "not_before": _timestamps,
    "renews": _identities,
    "standing_id": _identities,
    "as_of": _timestamps,
    "published_url": _urls,
    "post_url": _urls,
    "brand_name": _some_text,
    "picture": st.fixed_dictionaries(
        {
            "url": _urls,
            "alt": _text,
            "media_type": st.sampled_from(["image/png", "image/jpeg", "image/svg+xml"]),
            "width": st.integers(1, 100_000),
            "height": st.integers(1, 100_000),
        },
        optional={"jpeg_url": _urls},
    ),
    "approval": st.sampled_from(["everything", "nothing"]),
    "language": st.sampled_from(["en", "de-CH", "zh-Hant"]),
    "post_id": _identities,
    "channel": _some_text,
    "account": _some_text,
    "mark": st.from_regex(r"[a-z2-7]{5}", fullmatch=True),
    "short_link": _urls,
    "channels": st.lists(_some_text, max_size=20),
    "audit_id": _identities,
    "findings": st.dictionaries(_codes, st.integers(0, 2**31 - 1), max_size=10),
    "cycle_id": _identities,
    "state": _codes,
    "states": st.dictionaries(_codes, st.integers(0, 2**31 - 1), max_size=10),
    "total": st.integers(0, 2**31 - 1),
    "began_at": _timestamps,
    "ended_at": _timestamps,
    "drafts": st.integers(0, 2**31 - 1),
    "posts": st.integers(0, 2**31 - 1),
    "since": _timestamps,
    "held_up": st.booleans(),
    "article_context": st.fixed_dictionaries(
        {"title": _some_text, "keyword": _some_text, "meta_description": _text},
        optional={"key_points": st.lists(_text, max_size=20)},
    ),
}
"""Valid values of every field of every payload, as JSON; a new field of the catalogue needs its line here."""


@st.composite
def sound(draw: st.DrawFn) -> SoundMessage:
    """A message of any type of the catalogue that every reader must accept."""
    entry = CATALOGUE[draw(st.sampled_from(sorted(CATALOGUE)))]
    fields = entry.payload.model_fields
    required = {name: _FIELDS[name] for name, field in fields.items() if field.is_required()}
    optional = {name: _FIELDS[name] for name, field in fields.items() if not field.is_required()}
    event_id = draw(_uuids)
    source = draw(st.sampled_from(entry.producers))
    payload = draw(st.fixed_dictionaries(required, optional=optional))
    if entry.payload in (
        DeadLetterResolved,
        DeadLetterEdited,
    ):  # which is believed of its sender's own queues alone
        payload["queue"] = CATALOGUE.command_queue(source)
    document = {
        "event_id": draw(st.sampled_from([str(event_id), event_id.urn, event_id.hex, f"{{{event_id}}}"])),
        "type": entry.name,
        "source": source,
        "timestamp": draw(_timestamps),
        "payload": payload,
    }
    more: dict[str, SearchStrategy[Any]] = {
        "correlation_id": st.none() | _text,
        "causation_id": _identities,
    }
    document |= draw(st.fixed_dictionaries({}, optional=more))
    return SoundMessage(entry, event_id, document)


# -- what may be done to one -------------------------------------------------------------------------------------------

_junk: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _text.map(lambda text: text + SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_some_text, inner, max_size=3),
    max_leaves=8,
)
_wrong: Final = (
    _junk
    | st.sampled_from(["", "\0", f"a\0{SECRET}", SECRET * 300, -1, 10**400, [], {}, [[[[SECRET]]]]])
    | st.integers(1, 3000).map(lambda length: SECRET[0] * length)
)
_ENVELOPE: Final = ("event_id", "type", "source", "timestamp", "payload")


@st.composite
def accepted(draw: st.DrawFn) -> StrangeMessage:
    """Odd, and right all the same: fields from the future, blanks around, members in any order."""
    message = draw(sound())
    more = st.dictionaries(
        _some_text.map("new_{}".format), _junk | st.sampled_from([10**30, 1.5e308, "\0"]), max_size=3
    )
    document = {**message.document, **draw(more)}
    document["payload"] = {**document["payload"], **draw(more)}
    document = dict(draw(st.permutations(list(document.items()))))
    body = _json(document) if draw(st.booleans()) else json.dumps(document, indent=2).encode()
    return message.written("extra fields", b" \t\r\n" * draw(st.integers(0, 3)) + body, ExpectedEnd.EFFECT)


@st.composite
def missing(draw: st.DrawFn) -> StrangeMessage:
    message = draw(sound())
    payload = message.document["payload"]
    fields = message.entry.payload.model_fields
    name = draw(
        st.sampled_from([*_ENVELOPE, *(field for field in payload if fields[field].is_required())] * 1)
    )
    if name in _ENVELOPE:
        document = {key: value for key, value in message.document.items() if key != name}
        return message.becomes(f"without {name}", document, ExpectedEnd.DEATH, name, envelope=False)
    document = message.document | {"payload": {key: value for key, value in payload.items() if key != name}}
    return message.becomes(f"without payload.{name}", document, ExpectedEnd.DEATH, name)


@st.composite
def wrong_envelope(draw: st.DrawFn) -> StrangeMessage:
    """One field of the envelope is not what it should be. `type` and `correlation_id` have cases of their own."""
    message = draw(sound())
    name = draw(st.sampled_from(["event_id", "source", "timestamp", "payload", "causation_id"]))
    values: dict[str, SearchStrategy[Any]] = {
        "event_id": st.sampled_from([None, 7, "", "x" * 36, SECRET, [SECRET], {}, 10**400, True]),
        "source": st.sampled_from([None, 7, "", SECRET * 20, [SECRET], f"\0{SECRET}"]),
        "timestamp": st.sampled_from(
            [None, "", SECRET, "2026-01-01T00:00:00", "10000-01-01T00:00:00Z", [SECRET], {}, "24:00"]
        ),
        "payload": st.sampled_from([None, 7, SECRET, [SECRET], "{}", True]),
        "causation_id": st.sampled_from([7, SECRET, [SECRET], {}]),
    }
    document = message.document | {name: draw(values[name])}
    return message.becomes(f"wrong {name}", document, ExpectedEnd.DEATH, name, envelope=False)


@st.composite
def wrong_payload(draw: st.DrawFn) -> StrangeMessage:
    message = draw(sound())
    name = draw(st.sampled_from(sorted(message.entry.payload.model_fields)))
    document = message.document | {"payload": message.document["payload"] | {name: draw(_wrong)}}
    # 10^400 and the like may already be too much for the JSON parser: then no field is to blame.
    return message.becomes(f"wrong payload.{name}", document, ExpectedEnd.EITHER, name, "JSON")


@st.composite
def wrong_type(draw: st.DrawFn) -> StrangeMessage:
    message = draw(sound())
    others = [entry.name for entry in CATALOGUE.values() if entry.queue != message.entry.queue]
    unknown = st.sampled_from(["research.requested.v9", "weather.changed", "a.b", *others])
    no_type = st.sampled_from([None, 7, "", "UPPER.CASE", "one", f"a.b {SECRET}", "a." + "b" * 100, "a.b\n"])
    if draw(st.booleans()):
        name = draw(unknown)
        return message.becomes(
            f"type {name}", message.document | {"type": name}, ExpectedEnd.DEATH, f"{name}: "
        )
    return message.becomes(
        "a type that is none",
        message.document | {"type": draw(no_type)},
        ExpectedEnd.DEATH,
        "type",
        envelope=False,
    )


@st.composite
def wrong_correlation(draw: st.DrawFn) -> StrangeMessage:
    message = draw(sound())
    value = draw(st.sampled_from([7, True, [SECRET], {}, SECRET * 30, f"\0{SECRET}"]))
    document = message.document | {"correlation_id": value}
    return message.becomes(
        "wrong correlation_id", document, ExpectedEnd.DEATH, "correlation_id", envelope=False
    )


@st.composite
def broken_json(draw: st.DrawFn) -> StrangeMessage:
    """Cut short, followed by something, not UTF-8, in another encoding, nested without end."""
    message = draw(sound())
    body = _json(message.document)
    quoted = body.index(b'"payload"')
    how = draw(
        st.sampled_from(
            [
                ("cut short", body[: draw(st.integers(1, len(body) - 1))]),
                ("followed by another", body + body),
                ("not UTF-8", body[: quoted + 1] + b"\xff\xfe" + body[quoted + 1 :]),
                ("half a surrogate pair", body.replace(b'"payload"', b'"x":"\\ud83d","payload"', 1)),
                ("a bare NUL", body[:quoted] + b"\0" + body[quoted:]),
                ("UTF-16", body.decode().encode("utf-16")),
                ("a byte order mark", b"\xef\xbb\xbf" + body),
                ("NaN", body.replace(b'"payload"', b'"payload":NaN,"old"', 1)),
                ("nested", b"[" * draw(st.integers(1, 60_000))),
                ("nested payload", _in_payload(body, quoted, draw(st.integers(300, 50_000)))),
            ]
        )
    )
    return message.written(how[0], how[1], ExpectedEnd.DEATH, "body", "payload", envelope=False)


def _in_payload(body: bytes, quoted: int, depth: int) -> bytes:
    return body[:quoted] + b'"payload":{"a":' + b"[" * depth + b"]" * depth + b"}}"


@st.composite
def noise(draw: st.DrawFn) -> StrangeMessage:
    """No message at all: bytes, or JSON of any other kind."""
    queue = draw(st.sampled_from(sorted({entry.queue for entry in CATALOGUE.values()})))
    body = draw(st.binary(max_size=300) | _junk.map(_json))
    return StrangeMessage("noise", queue, body, ExpectedEnd.DEATH, None, ("body", *_ENVELOPE))


@st.composite
def huge_number(draw: st.DrawFn) -> StrangeMessage:
    message = draw(sound())
    number = draw(st.sampled_from([b"1e400", b"-1e999999999", b"9" * 400, b"9" * 5000, b"0." + b"0" * 9000]))
    body = _json(message.document)
    body = body.replace(b'"payload"', b'"new":' + number + b',"payload"', 1)
    return message.written("a huge number in a new field", body, ExpectedEnd.EITHER, "JSON")


@st.composite
def oversize(draw: st.DrawFn) -> StrangeMessage:
    """Past the limit by one byte to a megabyte; an envelope or not."""
    message = draw(sound())
    size = draw(st.sampled_from([MAX_MESSAGE_BYTES + 1, 300_000, 1_000_000]))
    if draw(st.booleans()):
        body = _json(message.document)
        body = body.ljust(size)
    else:
        body = _json(message.document | {"new": SECRET * (size // len(SECRET))})
    return message.written("oversize", body, ExpectedEnd.DEATH, f"{len(body):,} bytes", envelope=False)


@st.composite
def largest(draw: st.DrawFn) -> StrangeMessage:
    """Exactly at the limit."""
    message = draw(sound())
    return message.written(
        "at the limit", _json(message.document).ljust(MAX_MESSAGE_BYTES), ExpectedEnd.EFFECT
    )


@st.composite
def failing(draw: st.DrawFn) -> StrangeMessage:
    """A sound message with a failing handler: it ends, even if its headers claim other attempts."""
    message = draw(sound())
    cause = str(draw(st.sampled_from([FAILS, HOPELESS])))
    return message.becomes(
        f"caused by {cause}", message.document | {"causation_id": cause}, ExpectedEnd.DEATH, cause
    )


KINDS: Final[tuple[Callable[[], SearchStrategy[StrangeMessage]], ...]] = (
    accepted,
    accepted,
    failing,
    missing,
    wrong_envelope,
    wrong_payload,
    wrong_type,
    wrong_correlation,
    broken_json,
    broken_json,
    noise,
    huge_number,
    oversize,
    largest,
)
"""Asked in turn: left alone, Hypothesis dwells on the few that it finds rewarding."""


def dressed(
    kind: SearchStrategy[StrangeMessage], properties: SearchStrategy[RawProperties]
) -> SearchStrategy[StrangeMessage]:
    """Messages of a kind under such properties; one in four comes twice or three times."""
    return st.builds(_dress, kind, properties, st.booleans(), st.sampled_from([1, 1, 1, 1, 1, 1, 2, 3]))


def _dress(strange: StrangeMessage, properties: RawProperties, own_type: bool, copies: int) -> StrangeMessage:
    if own_type and properties.type is None:
        # The short way through the decoder is for messages that name their type outside too.
        properties = replace(properties, type=strange.what.partition(":")[0].encode())
    # Where it is open whether there is an envelope, it is open too whether copies are one message.
    once = strange.expected is ExpectedEnd.EITHER or len(strange.body) > MAX_MESSAGE_BYTES
    return replace(strange, properties=properties, copies=1 if once else copies)


def again(strange: StrangeMessage, rng: random.Random, properties: Sequence[RawProperties]) -> StrangeMessage:
    """The same strangeness as a message of its own, under other properties: far cheaper than drawing another."""
    fresh = UUID(int=rng.getrandbits(128))
    old = strange.stamp or fresh
    body = strange.body.replace(str(old).encode(), str(fresh).encode()).replace(
        old.hex.encode(), fresh.hex.encode()
    )
    if body == strange.body:
        mark = fresh.hex.encode()
        body = b'{"":"' + mark + b'",' + body[1:] if body.startswith(b'{"') else body + b" " + mark
    renamed = replace(strange, body=body, stamp=fresh, event_id=fresh if strange.event_id else None)
    return _dress(renamed, rng.choice(properties), rng.random() < 0.5, rng.choice([1, 1, 1, 2, 3]))
