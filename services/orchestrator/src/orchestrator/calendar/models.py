"""API views of a brand's calendar."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from chassis.http.api import View


class ArticleCalendarEntryView(View):
    """A scheduled article, or a firing of a schedule."""

    at: datetime
    """Local time in the requested time zone."""
    kind: Literal["article", "schedule"]
    """`article`: an article is published; `schedule`: a schedule fires."""
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    title: str
    """The article's title, or what the schedule does."""
    content_id: UUID | None
    """The article; none of a schedule."""
    version: int | None
    """The approved version of the article."""
    schedule: Annotated[str | None, Field(examples=["weekly-basics"])]
    """The schedule's name; none of an article."""


class CalendarPage(View):
    items: tuple[ArticleCalendarEntryView, ...]
    """Earliest first."""
    next: str | None
    """The `after` of the next page; null on the last page."""
