"""Client of the orchestrator's API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from brandctl.asking import MAX_PAGE, ServiceClient

FINAL_STATES: Final = frozenset({"completed", "refused", "needs_review", "rejected", "failed", "cancelled"})
UNDER_WAY: Final = frozenset({"running", "paused"})
"""States of cycles that still go on."""
WAITING: Final = "waiting"
"""State of a cycle in which nothing happens before a person decides."""


class KeywordPost(BaseModel):
    platform: str
    url: str


class KeywordProgress(BaseModel):
    """`state`: queued, writing, publishing, promoting, or one of `FINAL_STATES`."""

    keyword: str
    state: str
    reason: str | None = None
    waits: str | None = None
    """Why the writing of its article waits."""
    published_url: str | None = None
    has_standing_article: bool = False
    posts: tuple[KeywordPost, ...] = ()

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


class CycleKeywords(BaseModel):
    cycle_id: str
    correlation_id: str
    keywords: tuple[KeywordProgress, ...]
    next: int | None = None

    @property
    def ended(self) -> bool:
        return all(keyword.ended for keyword in self.keywords)


class CyclePause(BaseModel):
    """Why a cycle begins nothing more; `drafts`: the number of unreviewed drafts, if they are the reason."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    drafts: int | None = None


class CycleProgress(BaseModel):
    """How far a cycle is: `total` = `pending` + `processing` + `waiting` + `completed` + `failed`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    cycle_id: UUID
    brand_slug: str
    state: str
    """running, paused, waiting, completed, failed or cancelled."""
    pending: int
    processing: int
    # An orchestrator of the previous version does not send it.
    waiting: int = 0
    completed: int
    failed: int
    total: int
    percent: int
    not_sent: int
    drafts_waiting: int = 0
    posts_waiting: int = 0
    held_up: CyclePause | None = None
    created_at: datetime

    @property
    def ended(self) -> bool:
        return self.state not in UNDER_WAY and not self.waits_for_a_person

    @property
    def waits_for_a_person(self) -> bool:
        """Whether a person must decide first: all else has ended, or unreviewed drafts hold up the rest."""
        if self.state == WAITING:
            return True
        nothing_in_hand = self.pending + self.processing <= self.not_sent
        return (
            self.state in UNDER_WAY
            and nothing_in_hand
            and self.held_up is not None
            and self.held_up.drafts is not None
        )


class KeywordsPage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    items: tuple[KeywordProgress, ...]
    next: int | None


class _CycleList(BaseModel):
    items: tuple[CycleProgress, ...]


class QualityMeasure(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    shown: str
    least: float | None
    most: float | None
    holds: bool
    problem: str | None

    @property
    def bound(self) -> str:
        bounds = (("at least", self.least), ("at most", self.most))
        return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


class QualityScore(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str
    keyword: str
    published_url: str | None
    held_for: tuple[str, ...]
    measures: tuple[QualityMeasure, ...]


class Schedule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    kind: str = "research"
    """research or audit."""
    state: str
    reason: str | None
    cron: str | None
    time_zone: str
    keywords: int
    take: int | None
    handed_in: int
    next: tuple[datetime, ...]


class ScheduleRun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    due_at: datetime
    at: datetime
    cycle_id: str | None
    audit_id: str | None = None
    keywords: int
    missed: int
    failure: str | None


class AuditSummary(BaseModel):
    """An audit in a list."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    audit_id: UUID
    brand_slug: str
    made_by: str
    made_at: datetime
    counts: dict[str, int]
    cut: tuple[str, ...]
    """Kinds with more findings than the audit lists."""


class AuditFinding(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    subject: str
    address: str
    since: datetime
    advice: str


class Audit(AuditSummary):
    findings: tuple[AuditFinding, ...]
    notes: tuple[str, ...] = ()
    """What the audit could not check, and why."""


class _AuditList(BaseModel):
    items: tuple[AuditSummary, ...]


class _ScheduleRunList(BaseModel):
    items: tuple[ScheduleRun, ...]


class Subject(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    keywords: tuple[str, ...]
    articles: int
    in_hand: bool


class _SubjectList(BaseModel):
    items: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class BrandForm:
    slug: str
    name: str
    description: str
    writer: str = "extractive"


class _SubmitAnswer(BaseModel):
    cycle_id: str


class OrchestratorClient(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def put_brand(self, brand: BrandForm) -> None:
        body = {"name": brand.name, "description": brand.description, "writer": brand.writer}
        self._ask("PUT", _of(brand.slug), json=body)

    def submit(self, slug: str, keywords: Sequence[str]) -> str:
        """Submits the keywords; returns the id of their cycle."""
        answer = self._ask("POST", f"{_of(slug)}/research", json={"keywords": list(keywords)})
        return self._read(_SubmitAnswer, answer).cycle_id

    def submit_list(
        self,
        slug: str,
        body: bytes,
        media_type: str,
        *,
        priority: str | None,
        refresh: bool,
        distinct: bool,
        key: str | None,
    ) -> dict[str, Any]:
        """Submits keywords as JSON, text or CSV; returns the answer. The same `key` again begins no other cycle."""
        headers = {"Content-Type": media_type, **({"Idempotency-Key": key} if key else {})}
        answer = self._ask(
            "POST",
            f"{_of(slug)}/research",
            content=body,
            headers=headers,
            params={
                "priority": priority,
                "refresh": "true" if refresh else None,
                "distinct": "true" if distinct else None,
            },
        )
        self._read(_SubmitAnswer, answer)
        return answer

    def cycle(self, cycle_id: str) -> CycleKeywords:
        """Returns a cycle with all its keywords."""
        cycle = self._read(CycleKeywords, self._ask("GET", f"/v1/cycles/{quote(cycle_id, safe='')}"))
        while cycle.next is not None:
            page, _ = self.keywords(UUID(cycle.cycle_id), after=cycle.next)
            cycle = cycle.model_copy(update={"keywords": (*cycle.keywords, *page.items), "next": page.next})
        return cycle

    def progress(self, cycle_id: UUID) -> tuple[CycleProgress, dict[str, Any]]:
        """Returns the progress of a cycle, and the raw answer."""
        answer = self._ask("GET", f"/v1/cycles/{cycle_id}")
        return self._read(CycleProgress, answer), answer

    def cycles(
        self, *, brand: str | None, state: str | None, after: UUID | None, limit: int
    ) -> tuple[tuple[CycleProgress, ...], dict[str, Any]]:
        """Returns the latest cycles, and the raw answer."""
        wanted = {"brand": brand, "state": state, "after": after}
        answer = self._entries("/v1/cycles", wanted, limit=limit)
        return self._read(_CycleList, answer).items, answer

    def keywords(
        self, cycle_id: UUID, *, state: str | None = None, after: int = 0, limit: int = MAX_PAGE
    ) -> tuple[KeywordsPage, dict[str, Any]]:
        """Returns a page of a cycle's keywords, and the raw answer."""
        wanted = {"state": state, "after": after, "limit": limit}
        answer = self._ask("GET", f"/v1/cycles/{cycle_id}/keywords", params=wanted)
        return self._read(KeywordsPage, answer), answer

    def control(self, cycle_id: UUID, action: str) -> tuple[CycleProgress, dict[str, Any]]:
        """Pauses, resumes or cancels a cycle; returns its progress and the raw answer."""
        answer = self._ask("POST", f"/v1/cycles/{cycle_id}/{action}")
        return self._read(CycleProgress, answer), answer

    def score(self, content_id: UUID) -> tuple[QualityScore, dict[str, Any]]:
        """Returns the quality measures of an article, and the raw answer."""
        answer = self._ask("GET", f"/v1/content/{content_id}/score")
        return self._read(QualityScore, answer), answer

    def placements(self, content_id: UUID) -> dict[str, Any]:
        """Returns the publications of an article."""
        return self._ask("GET", f"/v1/content/{content_id}/placements")

    def place(self, content_id: UUID, target: str, *, overwrite: bool) -> dict[str, Any]:
        """Publishes the article again at one target."""
        path = f"/v1/content/{content_id}/placements/{quote(target, safe='')}"
        return self._ask("POST", path, json={"overwrite": overwrite})

    def schedules(self, slug: str) -> Iterator[tuple[Schedule, dict[str, Any]]]:
        """Yields a brand's schedules page by page, each with its raw answer."""
        for page in self._pages(f"{_of(slug)}/schedules", {}):
            yield from ((self._read(Schedule, item), item) for item in page["items"])

    def schedule(self, slug: str, name: str) -> tuple[Schedule, dict[str, Any]]:
        answer = self._ask("GET", _schedule(slug, name))
        return self._read(Schedule, answer), answer

    def put_schedule(self, slug: str, name: str, wanted: dict[str, Any]) -> tuple[Schedule, dict[str, Any]]:
        answer = self._ask("PUT", _schedule(slug, name), json=wanted)
        return self._read(Schedule, answer), answer

    def change_schedule(self, slug: str, name: str, change: str) -> tuple[Schedule, dict[str, Any]]:
        """Sends `change`, pause or resume."""
        answer = self._ask("POST", f"{_schedule(slug, name)}/{change}")
        return self._read(Schedule, answer), answer

    def remove_schedule(self, slug: str, name: str) -> None:
        self._ask("DELETE", _schedule(slug, name))

    def firings(self, slug: str, name: str) -> tuple[tuple[ScheduleRun, ...], dict[str, Any]]:
        """Returns the latest runs of a schedule."""
        answer = self._ask("GET", f"{_schedule(slug, name)}/firings")
        return self._read(_ScheduleRunList, answer).items, answer

    def subjects(
        self, slug: str, *, keyword: str | None, after: str | None, limit: int
    ) -> tuple[tuple[Subject, ...], dict[str, Any]]:
        """Returns a brand's subjects with an article or work in hand, or the one of `keyword`, and the raw answer."""
        wanted = {"keyword": keyword, "after": after, "limit": limit}
        answer = self._ask("GET", f"{_of(slug)}/subjects", params=wanted)
        return self._read(_SubjectList, answer).items, answer

    def subject_decisions(self, slug: str) -> Iterator[dict[str, Any]]:
        """Yields the joins and splits that hold, latest first."""
        for page in self._pages(f"{_of(slug)}/subject-decisions", {}):
            yield from page["items"]

    def decide_subject(self, slug: str, decision: dict[str, Any]) -> dict[str, Any]:
        """Joins two subjects or splits one; `changed` says whether that changed anything."""
        return self._ask("POST", f"{_of(slug)}/subject-decisions", json=decision)

    def make_audit(self, slug: str) -> tuple[Audit, dict[str, Any]]:
        """Audits the brand; returns the audit and the raw answer."""
        answer = self._ask("POST", f"{_of(slug)}/audits")
        return self._read(Audit, answer), answer

    def audits(
        self, slug: str, *, limit: int, after: UUID | None = None
    ) -> tuple[tuple[AuditSummary, ...], dict[str, Any]]:
        """Returns the latest audits, and the raw answer."""
        wanted = {"after": after, "limit": limit}
        answer = self._ask("GET", f"{_of(slug)}/audits", params=wanted)
        return self._read(_AuditList, answer).items, answer

    def audit(self, slug: str, audit_id: UUID) -> tuple[Audit, dict[str, Any]]:
        answer = self._ask("GET", f"{_of(slug)}/audits/{audit_id}")
        return self._read(Audit, answer), answer


OrchestratorUrl = Annotated[str | None, OrchestratorClient.address_option()]


def _of(slug: str) -> str:
    return f"/v1/brands/{quote(slug, safe='')}"


def _schedule(slug: str, name: str) -> str:
    return f"{_of(slug)}/schedules/{quote(name, safe='')}"
