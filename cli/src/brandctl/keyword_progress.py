"""The keywords of a cycle with their progress, as the demo shows them."""

from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from client.pages import items_of
from client.services.orchestrator import Orchestrator

FINAL_STATES: Final = frozenset({"completed", "refused", "needs_review", "rejected", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class BrandForm:
    slug: str
    name: str
    description: str
    writer: Literal["extractive", "model"] = "extractive"


@dataclass(frozen=True, slots=True)
class KeywordProgress:
    """`state`: queued, writing, publishing, promoting, or one of `FINAL_STATES`."""

    keyword: str
    state: str
    reason: str | None = None
    waits: str | None = None
    """Why the writing of its article waits."""
    published_url: str | None = None
    has_standing_article: bool = False
    posts: tuple[str, ...] = ()
    """Addresses of its posts."""

    @property
    def ended(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def ended_well(self) -> bool:
        """Whether it ended well: published and posted, with an article already, or refused, rejected or held with a reason."""
        match self.state:
            case "completed":
                return self.has_standing_article or (self.published_url is not None and bool(self.posts))
            case "refused" | "needs_review" | "rejected":
                return bool(self.reason)
            case _:
                return False


@dataclass(frozen=True, slots=True)
class CycleKeywords:
    correlation_id: str
    keywords: tuple[KeywordProgress, ...]

    @property
    def ended(self) -> bool:
        return all(keyword.ended for keyword in self.keywords)


def read_cycle(orchestrator: Orchestrator, cycle_id: str) -> CycleKeywords:
    """Returns a cycle with all its keywords."""
    cycle = orchestrator.get_cycle(UUID(cycle_id))
    listed = items_of(orchestrator.list_cycle_keywords, cycle_id, limit=200)
    return CycleKeywords(cycle["correlation_id"], tuple(map(_progress, listed)))


def _progress(keyword: dict[str, Any]) -> KeywordProgress:
    return KeywordProgress(
        keyword["keyword"],
        keyword["state"],
        keyword["reason"],
        keyword["waits"],
        keyword["published_url"],
        keyword["has_standing_article"],
        tuple(post["url"] for post in keyword["posts"] if post["url"]),
    )
