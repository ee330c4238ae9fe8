"""The orchestrator's HTTP API, as far as the demo needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import httpx
from pydantic import BaseModel

FINAL_STATES: Final = frozenset({"completed", "refused", "needs_review", "failed"})


class ApiError(RuntimeError):
    """The API refused a request; the message is the API's own."""


class Post(BaseModel):
    platform: str
    url: str


class KeywordProgress(BaseModel):
    """`state`: queued, researching, writing, publishing, promoting, completed, refused, needs_review or failed."""

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
        """Published and posted, or refused or held for a review with a reason."""
        match self.state:
            case "completed":
                return self.published_url is not None and bool(self.posts)
            case "refused" | "needs_review":
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


@dataclass(frozen=True, slots=True)
class Brand:
    slug: str
    name: str
    description: str
    writer: str = "extractive"


class Orchestrator:
    """A client for one run; use it as a context manager."""

    def __init__(self, url: str, service_key: str) -> None:
        self._http = httpx.Client(
            base_url=url, headers={"X-Service-Key": service_key}, timeout=30, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def put_brand(self, brand: Brand) -> None:
        body = {"name": brand.name, "description": brand.description, "writer": brand.writer}
        self._call("PUT", f"/v1/brands/{brand.slug}", body)

    def submit(self, slug: str, keywords: Sequence[str]) -> str:
        """Hands in the keywords; returns the id of their cycle."""
        answer = self._call("POST", f"/v1/brands/{slug}/research", {"keywords": list(keywords)})
        return str(answer["cycle_id"])

    def cycle(self, cycle_id: str) -> Cycle:
        return Cycle.model_validate(self._call("GET", f"/v1/cycles/{cycle_id}"))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        response = self._http.request(method, path, json=body)
        if response.is_success:
            answer: dict[str, Any] = response.json()
            return answer
        raise ApiError(f"{method} {path} was refused ({response.status_code}): {_detail(response)}")


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500]
