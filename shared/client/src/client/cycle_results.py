"""What became of submitted keywords: progress and results of a cycle. Pure: no I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from client.errors import ClientError, RefusedError, UnreachableError

if TYPE_CHECKING:
    from client.services.orchestrator import answers

POLL_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 60.0
"""How long a service that does not answer, or is busy, is asked again: it may be restarting."""
_UNDER_WAY: Final = frozenset({"running", "paused"})
"""States of cycles that still go on."""
_WAITING: Final = "waiting"
"""State of a cycle in which nothing happens before a person decides."""
_BUSY: Final = frozenset({429, 502, 503, 504})


class NotEndedError(ClientError, TimeoutError):
    """The keywords have not ended in the given time. They go on: `job(cycle_id)` waits for them again.

    Attributes:
        cycle_id: of the keywords.
    """

    def __init__(self, cycle_id: str, seconds: float) -> None:
        super().__init__(f"cycle {cycle_id} has not ended within {seconds:g} seconds; it goes on")
        self.cycle_id = cycle_id


def may_pass(error: ClientError) -> bool:
    """Whether the same request may succeed in a moment."""
    if isinstance(error, RefusedError):
        return error.status in _BUSY
    return isinstance(error, UnreachableError)


def is_ended(cycle: "answers.CycleSummary | answers.CycleView") -> bool:
    return cycle["state"] not in _UNDER_WAY and not waits_for_a_person(cycle)


def waits_for_a_person(cycle: "answers.CycleSummary | answers.CycleView") -> bool:
    """Whether a person must decide first: all else has ended, or unreviewed drafts hold up the rest."""
    if cycle["state"] == _WAITING:
        return True
    nothing_in_hand = cycle["pending"] + cycle["processing"] <= cycle["not_sent"]
    held_up = cycle.get("held_up")
    return (
        cycle["state"] in _UNDER_WAY
        and nothing_in_hand
        and held_up is not None
        and held_up["drafts"] is not None
    )


@dataclass(frozen=True, slots=True)
class SubmittedKeyword:
    """A keyword and what became of it."""

    keyword: str
    state: str
    """Such as `completed`, `refused`, `needs_review`, `failed`; later versions may add states."""
    reason: str | None
    """Why it has no article, or which posts it lacks."""
    content_id: str | None
    """Its article, or its draft."""
    url: str | None
    """The address of its published article."""
    posts: Mapping[str, str]
    """Addresses of its posts by channel."""

    @classmethod
    def of(cls, told: "answers.KeywordView") -> "SubmittedKeyword":
        posts = {each["platform"]: each["url"] for each in told["posts"]}
        return cls(
            told["keyword"], told["state"], told["reason"], told["content_id"], told["published_url"], posts
        )


@dataclass(frozen=True, slots=True)
class JobResults:
    """All keywords of a job once they have ended, or wait for a person."""

    cycle_id: str
    state: str
    """Of the cycle: `completed`, `waiting`, `failed` or `cancelled`."""
    keywords: tuple[SubmittedKeyword, ...]
    """In the order in which they were submitted."""

    @property
    def articles(self) -> tuple[SubmittedKeyword, ...]:
        """Those with a published article."""
        return tuple(each for each in self.keywords if each.url is not None)

    @property
    def waiting(self) -> tuple[SubmittedKeyword, ...]:
        """Those whose draft waits for a person, or for its planned time."""
        return tuple(each for each in self.keywords if each.state == "needs_review")

    @property
    def refused(self) -> tuple[SubmittedKeyword, ...]:
        """Those without an article, each with its `reason`."""
        return tuple(
            each
            for each in self.keywords
            if each.url is None and each.state in {"refused", "rejected", "failed", "cancelled"}
        )
