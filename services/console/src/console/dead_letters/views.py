"""What the pages of dead letters show, made from the monitor's answers. Pure: no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode

from console.ids import parse_id

STATES: Final = ("open", "replaying", "resolved", "discarded")
ANY: Final = "any"
"""Stands in the address for letters in any state; without a state it means the open ones."""
TONES: Final = {"open": "bad", "replaying": "warn", "resolved": "good", "discarded": "plain"}
PAGE_SIZE: Final = 50
GROUPS: Final = 20
"""Groups on a page, the largest first."""
SHOWN_CHARACTERS: Final = 20_000
"""Of a message; the file has as much as the monitor returns."""
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """The filter of the list, read from the address; empty fields match all letters."""

    state: str = STATES[0]
    queue: str = ""
    type: str = ""
    group: str = ""
    chain: str = ""
    """A correlation id."""
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
    def is_narrow(self) -> bool:
        """Whether it leaves out letters of the state, so that their groups say nothing of the list."""
        return bool(self.type or self.group or self.chain)

    @property
    def is_set(self) -> bool:
        return self != type(self)(after=self.after)

    @property
    def may_act_on_all(self) -> bool:
        """Whether a button may mean all that match: only open letters can be decided about."""
        return self.state == STATES[0] and not self.chain

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of the monitor's list."""
        return {
            "state": None if self.state == ANY else self.state,
            "queue": self.queue or None,
            "type": self.type or None,
            "group": self.group or None,
            "correlation_id": self.chain or None,
            "after": self.after or None,
            "limit": PAGE_SIZE,
        }

    def selection(self) -> dict[str, Any]:
        """Returns the arguments with which the monitor replays or discards all that match."""
        named = {"queue": self.queue, "type": self.type, "group": self.group}
        return {name: value for name, value in named.items() if value}

    def query(self, *, after: object = None, **changed: str) -> str:
        """The query of a link to the first page, or to the one after a letter, with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changed
        fields |= {"after": "" if after is None else str(after)}
        if fields["state"] == STATES[0]:
            fields["state"] = ""
        return f"?{urlencode({name: value for name, value in fields.items() if value})}"


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
