"""API views of keywords found over all cycles."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from envelope.brand.payloads import Priority
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.cycles.keyword_search import KeywordFilter, most_counted
from orchestrator.cycles.keyword_times import KeywordTimes
from orchestrator.cycles.models import KeywordView, fields_of, in_dollars


class KeywordTimesView(View):
    """Times of a keyword's steps; null: not reached, or before times were recorded."""

    research_asked_at: datetime | None
    """When research was requested."""
    researched_at: datetime | None
    """When research answered."""
    writing_asked_at: datetime | None
    """When its article was last sent to the writers."""
    published_at: datetime | None
    """When its home target reported the publication."""
    ended_at: datetime | None
    """When it ended; null while it is under way or waits for a person."""

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
    """A keyword of any cycle, with its cycle and brand."""

    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    cycle_id: UUID
    position: Annotated[int, Field(ge=0, examples=[12])]
    """Its place in its cycle; both together identify it."""
    correlation_id: str
    """The id in all log lines, messages and dead letters of its cycle."""
    submitted_by: Annotated[str | None, Field(examples=["newsroom"])]
    """Who submitted its cycle: the name of the key, `schedule` and its name, or `audit`; null: unknown, from an older
    version."""
    priority: Priority
    accepted_at: datetime
    """When its cycle was submitted."""
    moved_at: datetime
    """When it last changed."""
    times: KeywordTimesView
    deadline: datetime | None
    """When the work on its request ends; null: no deadline."""
    max_cost: Annotated[float | None, Field(examples=[5.0])]
    """US dollars that the paid calls of its request may cost together; null: no such limit."""

    @classmethod
    def of_row(cls, row: KeywordRow) -> Self:
        return cls(
            **fields_of(row),
            brand_slug=row.facts.brand_slug,
            cycle_id=row.cycle_id,
            position=row.position,
            correlation_id=row.correlation_id,
            submitted_by=row.submitted_by,
            priority=row.priority,
            accepted_at=row.accepted_at or row.facts.moved_at,
            moved_at=row.facts.moved_at,
            times=KeywordTimesView.of(row.times),
            deadline=row.limits.deadline,
            max_cost=in_dollars(row.limits.max_cost),
        )


class KeywordCount(View):
    count: int
    is_exact: bool
    """False if there are more than are counted."""

    @classmethod
    def of(cls, count: int, wanted: KeywordFilter) -> Self:
        return cls(count=count, is_exact=count < most_counted(wanted))


class FoundKeywordsView(View):
    """Keywords of the latest cycle first."""

    items: tuple[FoundKeywordView, ...]
    next: Annotated[str | None, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f.12"])]
    """Send it as `after` to get the next page; null on the last one."""
    count: KeywordCount | None
    """How many the filters let through, on all pages; null if not asked for."""

    @classmethod
    def of(cls, rows: Sequence[KeywordRow], limit: int, count: KeywordCount | None) -> Self:
        """`rows` are the page's, and one more if there is a next page."""
        page = rows[:limit]
        return cls(
            items=tuple(map(FoundKeywordView.of_row, page)),
            next=f"{page[-1].cycle_id}.{page[-1].position}" if len(rows) > limit else None,
            count=count,
        )


class KeywordSpellings(View):
    spellings: tuple[str, ...]
    """The last submitted first."""
