"""What the page of the ledger shows, by the filter in its address. Pure: no I/O."""

from collections.abc import Mapping
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
