"""API views of audits."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.audits.domain import FindingKind


class FindingView(View):
    kind: FindingKind
    subject: Annotated[str, Field(examples=["cold brew"])]
    """The keyword, the title of the article, the name of the schedule or of the account."""
    id: str
    """Of an article its `content_id`, of a keyword its `cycle_id`, of a schedule or an account its name."""
    address: str
    """The page, a path of the API (of an account, the gateway's), or of a `dead_link` the source."""
    since: datetime
    advice: Annotated[str, Field(examples=["fix the cause and submit it again"])]
    """What to do."""
    detail: str = ""
    """What was seen, such as why a keyword has no article; part of `advice`, too."""
    cycle_id: str = ""
    """The cycle that already mends it; empty: none does."""


class AuditLine(View):
    """An audit in a list."""

    audit_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    made_by: Annotated[str, Field(examples=["schedule"])]
    """`schedule`, or the name of the caller that requested it."""
    made_at: datetime
    counts: dict[FindingKind, int]
    """The number of listed findings by kind."""
    cut: tuple[FindingKind, ...]
    """Kinds with more findings than the 100 that are listed."""


class AuditView(AuditLine):
    findings: tuple[FindingView, ...]
    """By kind; of each kind the most urgent first."""
    notes: tuple[str, ...]
    """What could not be checked, and why."""


class AuditList(View):
    items: tuple[AuditLine, ...]
    """The latest first."""
    next: UUID | None
    """`after` of the next page; null on the last one."""
