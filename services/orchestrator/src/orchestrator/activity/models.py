"""API views of the brands' activity."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from chassis.http.api import View


class LastAuditView(View):
    """The brand's newest audit."""

    audit_id: UUID
    made_at: datetime
    counts: dict[str, int]
    """Findings by kind."""


class RecentActivity(View):
    """Results of keywords that moved since the requested time. Cycles that the clean-up deleted do not count."""

    published: int
    """Published articles."""
    posts: int
    """Published posts, on all channels."""
    refused: int
    """Keywords that ended without an article and without an error."""
    failed: int


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    drafts_waiting: int
    """Drafts that wait for a decision."""
    posts_waiting: int
    """Articles with a post that waits for a decision."""
    waiting_since: datetime | None
    """When the oldest of these drafts or posts began to wait."""
    held_up: bool
    """Whether unreviewed drafts pause the brand."""
    audit: LastAuditView | None
    recently: RecentActivity | None
    """Only where `since` is given."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug."""
    next: str | None
    """`after` of the next page; none if this is the last."""
