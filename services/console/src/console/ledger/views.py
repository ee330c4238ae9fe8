"""What the page of the ledger shows, by the filter in its address. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode

STATES: Final = ("missing", "under_way", "dead_letter", "discarded", "closed")
TONES: Final = {"missing": "bad", "dead_letter": "bad", "under_way": "warn"}
COUNTS: Final = ("accepted", "done", "under_way", "dead_letters", "discarded", "closed", "missing")
REMEDIES: Final = {
    "research.requested": "by_itself",
    "content.generate": "by_itself",
    "research.completed": "by_itself",
    "research.failed": "by_itself",
    "content.generated": "by_itself",
    "content.published": "by_itself",
    "content.publish": "publish",
    "social.create": "posts",
    "post.send": "posts",
}
"""What mends the loss of a message, by its type: keys of texts. The others have none: see docs/operations/ledger.md."""
PAGE: Final = 50
MOST_CHAINS: Final = 25
"""Chains of a page whose keywords are looked up; rows of others show their chain alone."""
MOST_KEYWORDS: Final = 50
_NOT_DONE: Final = frozenset({"missing", "under_way"})
_STATES_OF_TYPES: Final = {
    "research.requested": "queued",
    "research.completed": "queued",
    "research.failed": "queued",
    "content.generate": "writing",
    "content.generated": "writing",
    "content.publish": "publishing",
    "content.published": "publishing",
    "social.create": "promoting",
    "post.send": "promoting",
}
"""The state of a keyword while a message of the type is not done."""
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """The messages that the page lists; empty texts match all."""

    state: str
    queue: str
    after: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        state = query.get("state", "")
        return cls(
            state if state in STATES else "",
            query.get("queue", "").strip()[:_LONGEST],
            query.get("after", "")[:_LONGEST],
        )

    @property
    def is_set(self) -> bool:
        return bool(self.state or self.queue or self.after)

    def arguments(self) -> dict[str, Any]:
        """The filter as the monitor takes it."""
        return {
            "state": self.state or None,
            "queue": self.queue or None,
            "after": self.after or None,
            "limit": PAGE,
        }

    def query(self, after: str = "") -> str:
        """The address of the same list, from a message on."""
        given = {"state": self.state, "queue": self.queue, "after": after}
        return f"?{urlencode({name: value for name, value in given.items() if value})}"


@dataclass(frozen=True, slots=True)
class MessageSubject:
    """What a message is about, as far as its chain tells it."""

    brand: str
    keyword: str
    """Empty if the chain has several keywords that it may be about."""
    path: str
    """Of the keyword's page; with several keywords, of their list."""
    article: str | None
    """Path of the keyword's article."""


def chains_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The chains of the messages that are not done, each once."""
    found = (each["correlation_id"] for each in messages if each["state"] in _NOT_DONE)
    return [each for each in dict.fromkeys(found) if each][:MOST_CHAINS]


def subject_of(message: Mapping[str, Any], keywords: Sequence[Mapping[str, Any]]) -> MessageSubject | None:
    """What a message is about; None if it is not known.

    Args:
        message: a message of the ledger.
        keywords: those of its chain, up to MOST_KEYWORDS.
    """
    if message["state"] not in _NOT_DONE or not keywords:
        return None
    brand = keywords[0]["brand_slug"]
    state = _STATES_OF_TYPES.get(message["type"])
    fitting = [each for each in keywords if each["state"] == state] or list(keywords)
    if len(fitting) > 1:
        return MessageSubject(brand, "", f"/b/{brand}/keywords" + (f"?state={state}" if state else ""), None)
    [found] = fitting
    content_id = found["content_id"]
    # A keyword has an article once it is written.
    is_written = content_id and found["state"] not in {"queued", "writing"}
    return MessageSubject(
        brand,
        found["keyword"],
        f"/b/{brand}/keywords/{found['cycle_id']}.{found['position']}",
        f"/b/{brand}/articles/{content_id}" if is_written else None,
    )
