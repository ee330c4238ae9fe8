"""The keywords of a cycle with their progress, as the demo shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from client.pages import items_of, read_if_known
from client.services.orchestrator import Orchestrator

_OF_MODEL: Final = "model:"
"""Begins the names of steps that are a model's answers."""
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
    answers: str | None = None
    """How far the model is that writes it."""
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


def read_cycle(orchestrator: Orchestrator, cycle_id: str, writer: str) -> CycleKeywords:
    """Returns a cycle with all its keywords; if a model is the writer, with its answers so far."""
    cycle = orchestrator.get_cycle(UUID(cycle_id))
    listed = items_of(orchestrator.list_cycle_keywords, cycle_id, limit=200)
    return CycleKeywords(
        cycle["correlation_id"],
        tuple(
            _progress(
                each,
                read_if_known(orchestrator.get_workflow, each["content_id"])
                if writer == "model" and each["state"] == "writing"
                else None,
            )
            for each in listed
        ),
    )


def answers_in_words(workflow: Mapping[str, Any]) -> str | None:
    """Returns how many answers of the model an article has so far, and what it asks for; None if no model writes yet."""
    steps = [each for each in workflow["steps"] if each["name"].startswith(_OF_MODEL)]
    done = [each["name"].removeprefix(_OF_MODEL) for each in steps if each["finished_at"]]
    if not done:
        return "the model reads its first question" if workflow["in_hand"] else None
    answers = "1 answer" if len(done) == 1 else f"{len(done)} answers"
    written = f", {workflow['tokens']['written']:,} tokens" if workflow["tokens"] else ""
    return f"{answers} of the model so far{written}; the last one: {done[-1]}"


def _progress(keyword: dict[str, Any], workflow: Mapping[str, Any] | None) -> KeywordProgress:
    return KeywordProgress(
        keyword["keyword"],
        keyword["state"],
        keyword["reason"],
        keyword["waits"],
        answers_in_words(workflow) if workflow else None,
        keyword["published_url"],
        keyword["has_standing_article"],
        tuple(post["url"] for post in keyword["posts"] if post["url"]),
    )
