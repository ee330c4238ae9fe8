"""The orchestrator's HTTP API, as far as commands need it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from brandctl.asking import ServiceClient

FINAL_STATES: Final = frozenset({"completed", "refused", "needs_review", "rejected", "failed"})


class Post(BaseModel):
    platform: str
    url: str


class KeywordProgress(BaseModel):
    """`state`: queued, researching, writing, publishing, promoting, completed, refused, needs_review, rejected or failed."""

    keyword: str
    state: str
    reason: str | None = None
    waits: str | None = None
    """Why its article is not being written right now."""
    published_url: str | None = None
    posts: tuple[Post, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def ended_well(self) -> bool:
        """Published and posted, or refused, rejected or held for a review with a reason."""
        match self.state:
            case "completed":
                return self.published_url is not None and bool(self.posts)
            case "refused" | "needs_review" | "rejected":
                return bool(self.reason)
            case _:
                return False


class Cycle(BaseModel):
    cycle_id: str
    correlation_id: str
    keywords: tuple[KeywordProgress, ...]

    @property
    def ended(self) -> bool:
        return all(keyword.ended for keyword in self.keywords)


class Measure(BaseModel):
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


class Score(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str
    keyword: str
    published_url: str | None
    held_for: tuple[str, ...]
    measures: tuple[Measure, ...]


class Schedule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    state: str
    reason: str | None
    cron: str | None
    time_zone: str
    keywords: int
    take: int | None
    handed_in: int
    next: tuple[datetime, ...]


class Firing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    due_at: datetime
    at: datetime
    cycle_id: str | None
    keywords: int
    missed: int
    failure: str | None


class _Page(BaseModel):
    items: tuple[dict[str, Any], ...]
    next: str | None


class _Firings(BaseModel):
    items: tuple[Firing, ...]


@dataclass(frozen=True, slots=True)
class Brand:
    slug: str
    name: str
    description: str
    writer: str = "extractive"


class _Submitted(BaseModel):
    cycle_id: str


class Orchestrator(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def put_brand(self, brand: Brand) -> None:
        body = {"name": brand.name, "description": brand.description, "writer": brand.writer}
        self._ask("PUT", _of(brand.slug), json=body)

    def submit(self, slug: str, keywords: Sequence[str]) -> str:
        """Hands in the keywords; returns the id of their cycle."""
        answer = self._ask("POST", f"{_of(slug)}/research", json={"keywords": list(keywords)})
        return self._read(_Submitted, answer).cycle_id

    def cycle(self, cycle_id: str) -> Cycle:
        return self._read(Cycle, self._ask("GET", f"/v1/cycles/{quote(cycle_id, safe='')}"))

    def score(self, content_id: UUID) -> tuple[Score, dict[str, Any]]:
        """What was measured of an article; also as it was answered."""
        answer = self._ask("GET", f"/v1/content/{content_id}/score")
        return self._read(Score, answer), answer

    def schedules(self, slug: str) -> Iterator[tuple[Schedule, dict[str, Any]]]:
        """Those of a brand, page after page; each also as it was answered."""
        after: str | None = None
        while True:
            given = {"after": after} if after else {}
            page = self._read(_Page, self._ask("GET", f"{_of(slug)}/schedules", params=given))
            yield from ((self._read(Schedule, item), item) for item in page.items)
            if (after := page.next) is None:
                return

    def schedule(self, slug: str, name: str) -> tuple[Schedule, dict[str, Any]]:
        answer = self._ask("GET", _schedule(slug, name))
        return self._read(Schedule, answer), answer

    def put_schedule(self, slug: str, name: str, wanted: dict[str, Any]) -> tuple[Schedule, dict[str, Any]]:
        answer = self._ask("PUT", _schedule(slug, name), json=wanted)
        return self._read(Schedule, answer), answer

    def change_schedule(self, slug: str, name: str, change: str) -> Schedule:
        """`change` is pause or resume."""
        return self._read(Schedule, self._ask("POST", f"{_schedule(slug, name)}/{change}"))

    def remove_schedule(self, slug: str, name: str) -> None:
        self._ask("DELETE", _schedule(slug, name))

    def firings(self, slug: str, name: str) -> tuple[tuple[Firing, ...], dict[str, Any]]:
        """The latest."""
        answer = self._ask("GET", f"{_schedule(slug, name)}/firings")
        return self._read(_Firings, answer).items, answer


OrchestratorUrl = Annotated[str | None, Orchestrator.address_option()]


def _of(slug: str) -> str:
    return f"/v1/brands/{quote(slug, safe='')}"


def _schedule(slug: str, name: str) -> str:
    return f"{_of(slug)}/schedules/{quote(name, safe='')}"
