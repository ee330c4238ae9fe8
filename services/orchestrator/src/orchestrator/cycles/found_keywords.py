"""What the API gives of keywords that are searched for over all cycles."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from envelope.brand.payloads import Priority
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.cycles.keyword_times import KeywordTimes
from orchestrator.cycles.models import KeywordView


class KeywordTimesView(View):
    """When what happened to a keyword; null: it has not happened, or to a version that did not keep the time."""

    research_asked_at: datetime | None
    """When its turn came, and research was asked."""
    researched_at: datetime | None
    """When the word came that research was done."""
    writing_asked_at: datetime | None
    """When its article was sent to the writers; the latest time, if it was sent again."""
    published_at: datetime | None
    """When the word came that its page was published at the home target."""
    ended_at: datetime | None
    """When it ended; null while it goes on, or waits for a person."""

    @classmethod
    def of(cls, times: KeywordTimes) -> Self:
        return cls(
            research_asked_at=times.research_asked,
            researched_at=times.researched,
            writing_asked_at=times.writing_asked,
            published_at=times.published,
            ended_at=times.ended,
        )


class FoundKeywordView(KeywordView):
    """A keyword of any cycle, and where it belongs."""

    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    cycle_id: UUID
    correlation_id: str
    """In every log line, message and dead letter of its cycle."""
    submitted_by: Annotated[str | None, Field(examples=["newsroom"])]
    """Who handed its cycle in: the name of the key, `schedule` and its name, or `audit`; null: a version that did not keep it began the
    cycle."""
    priority: Priority
    accepted_at: datetime
    """When its cycle was handed in."""
    moved_at: datetime
    """When something about it last changed."""
    times: KeywordTimesView


class FoundKeywordsView(View):
    """Keywords of the latest cycle first."""

    items: tuple[FoundKeywordView, ...]
    next: Annotated[str | None, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f.12"])]
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, rows: Sequence[KeywordRow], limit: int) -> Self:
        """`rows` are those of the page, and one more if there are more."""
        page = rows[:limit]
        return cls(
            items=tuple(
                FoundKeywordView(
                    **dict(KeywordView.of(row)),
                    brand_slug=row.facts.brand_slug,
                    cycle_id=row.cycle_id,
                    correlation_id=row.correlation_id,
                    submitted_by=row.submitted_by,
                    priority=row.priority,
                    accepted_at=row.accepted_at or row.facts.moved_at,
                    moved_at=row.facts.moved_at,
                    times=KeywordTimesView.of(row.times),
                )
                for row in page
            ),
            next=f"{page[-1].cycle_id}.{page[-1].position}" if len(rows) > limit else None,
        )
