"""The orchestrator's HTTP API, as far as commands need it."""

from collections.abc import Sequence
from dataclasses import dataclass
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


OrchestratorUrl = Annotated[str | None, Orchestrator.address_option()]


def _of(slug: str) -> str:
    return f"/v1/brands/{quote(slug, safe='')}"
