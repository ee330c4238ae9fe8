"""What the pages of dead letters show, made from the monitor's answers. Pure: no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Any, Final, Self
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.ids import parse_id

STATES: Final = ("open", "replaying", "resolved", "discarded")
ANY: Final = "any"
"""Stands in the address for letters in any state; without a state it means the open ones."""
STATE_FOR: Final = {"replay": "open", "discard": "open", "restore": "discarded"}
"""What an operator may do → the state that a letter needs for it."""
TONES: Final = {"open": "bad", "replaying": "warn", "resolved": "good", "discarded": "plain"}
PAGE_SIZE: Final = 50
GROUPS: Final = 20
"""Groups on a page, the largest first."""
OPERATIONS: Final = 5
"""Operations on all that match that the page shows, the newest first."""
SHOWN_CHARACTERS: Final = 20_000
"""Of a message; the file has as much as the monitor returns."""
MOST_ATTEMPTS: Final = 99_999
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """The filter of the list, read from the address; empty fields match all letters."""

    state: str = STATES[0]
    queue: str = ""
    type: str = ""
    group: str = ""
    code: str = ""
    """A hash of the source in which they failed."""
    chain: str = ""
    """A correlation id."""
    id: str = ""
    """Of the letter, of its message or of its replay."""
    error: str = ""
    """Part of the error."""
    text: str = ""
    """Part of the message."""
    least: str = ""
    """The fewest attempts."""
    most: str = ""
    since: str = ""
    """The earliest time of its last failure, such as 2026-11-28T14:00, in the reader's zone."""
    before: str = ""
    after: str = ""
    """The cursor of the page."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        text = {name: query.get(name, "").replace("\0", "").strip()[:_LONGEST] for name in cls.__slots__}
        if text["state"] not in {*STATES, ANY}:
            text["state"] = STATES[0]
        if parse_id(text["after"]) is None:
            text["after"] = ""
        return cls(**text)

    @property
    def unreadable(self) -> list[str]:
        """Names of the fields that a person has mistyped; without them, the list would show letters that nobody meant."""
        wrong = [] if not self.id or parse_id(self.id) else ["id"]
        wrong += [
            name for name in ("least", "most") if getattr(self, name) and _count(getattr(self, name)) is None
        ]
        return wrong + [
            name for name in ("since", "before") if getattr(self, name) and _time(getattr(self, name)) is None
        ]

    @property
    def has_details(self) -> bool:
        """Whether one of the fields is set that the page shows when asked to."""
        return bool(
            self.chain or self.id or self.text or self.least or self.most or self.since or self.before
        )

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out letters of the state, so that their groups say nothing of the list."""
        return bool(self.type or self.group or self.code or self.error) or self.has_details

    @property
    def is_set(self) -> bool:
        return self != type(self)(after=self.after)

    @property
    def may_act_on_all(self) -> bool:
        """Whether a button may mean all that match: there is nothing to do with letters of the other states."""
        return self.state in STATE_FOR.values() and not self.unreadable

    @property
    def verbs(self) -> list[str]:
        """What may be done with letters of the list."""
        state = STATES[0] if self.state == ANY else self.state
        return [verb for verb, needed in STATE_FOR.items() if needed == state]

    def arguments(self, zone: str) -> dict[str, Any]:
        """Returns the arguments of the monitor's list; `zone` is the reader's."""
        return {
            "state": None if self.state == ANY else self.state,
            **self.selection(zone),
            "after": self.after or None,
            "limit": PAGE_SIZE,
        }

    def selection(self, zone: str) -> dict[str, Any]:
        """Returns the arguments with which the monitor replays or discards all that match: those of the list."""
        named = {
            "queue": self.queue or None,
            "type": self.type or None,
            "group": self.group or None,
            "code": self.code or None,
            "correlation_id": self.chain or None,
            "message_id": self.id or None,
            "error": self.error or None,
            "payload": self.text or None,
            "min_attempts": _count(self.least),
            "max_attempts": _count(self.most),
            "failed_since": _time(self.since, zone),
            "failed_before": _time(self.before, zone),
        }
        return {name: value for name, value in named.items() if value is not None}

    def watched(self) -> dict[str, Any]:
        """Returns the arguments of a wider list that an index answers, since it is read every few seconds.

        It changes with each letter that becomes open or ceases to be.
        """
        wider = replace(self, code="", error="", text="", least="", most="", since="", before="")
        return (replace(wider, id="") if self.unreadable else wider).arguments("UTC")

    def query(self, *, after: object = None, **changed: str) -> str:
        """The query of a link to the first page, or to the one after a letter, with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changed
        fields |= {"after": "" if after is None else str(after)}
        if fields["state"] == STATES[0]:
            fields["state"] = ""
        return f"?{urlencode({name: value for name, value in fields.items() if value})}"


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_ATTEMPTS)) else None


def _time(text: str, zone: str = "UTC") -> datetime | None:
    """Returns the time that a field of the type `datetime-local` has; None for a text that is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    # A time of another zone is still a time.
    if found.tzinfo is not None or not MINYEAR < found.year < MAXYEAR:
        return None
    try:
        return found.replace(tzinfo=ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        return found.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """The body of a dead letter as text."""

    text: str
    is_whole: bool


def message_of(letter: Mapping[str, Any]) -> ShownMessage:
    """Returns the body: JSON in lines of its own, or the text that it is."""
    if letter["payload_text"] is None:
        text = json.dumps(letter["payload"], ensure_ascii=False, indent=2)
    else:
        text = letter["payload_text"]
    is_whole = len(text) <= SHOWN_CHARACTERS and not letter["payload_truncated"]
    return ShownMessage(text[:SHOWN_CHARACTERS], is_whole)


def brand_of(letter: Mapping[str, Any]) -> str:
    """The brand that the message is about; empty if it names none."""
    envelope = letter["payload"]
    payload = envelope.get("payload") if isinstance(envelope, Mapping) else None
    brand = payload.get("brand_slug") if isinstance(payload, Mapping) else None
    return brand if isinstance(brand, str) else ""


def latest(listed: Any) -> list[Any]:
    """The latest operations; none if the monitor does not tell, as one of an earlier version."""
    return list(listed["items"]) if isinstance(listed, Mapping) else []


def is_under_way(operation: Mapping[str, Any]) -> bool:
    """Whether there is still something to stop: letters that it has not decided about."""
    return bool(operation["state"] == "running" and operation["decided"] < operation["total"])
