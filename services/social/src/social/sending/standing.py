"""Checks with the orchestrator that a planned post may go out: its brand is not paused and its page not taken down."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ValidationError

from chassis.http.client import (
    GoneError,
    NotThereError,
    PassingError,
    ServiceClient,
    Unchanged,
    UnusableAnswerError,
)
from messaging import Dependency, WaitFor
from social.domain import PostRefusal

_LOOK_AGAIN: Final = timedelta(seconds=30)
_REMEMBERED: Final = 1_000
"""Most cached answers; their entity tags avoid repeated transfers."""


class _Brand(BaseModel):
    paused_at: datetime | None = None


class _Article(BaseModel):
    taken_down_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SendingHold:
    """Why a post does not go out now. The next check follows after `pause`; None: none follows."""

    why: PostRefusal
    pause: timedelta | None = _LOOK_AGAIN


class SendingGate:
    """Checks posts with `client`, for the outages of `orchestrator`; without a client, no post is held."""

    def __init__(self, client: ServiceClient | None, orchestrator: Dependency) -> None:
        self._client = client
        self._orchestrator = orchestrator
        self._known: OrderedDict[str, tuple[str, bytes]] = OrderedDict()

    async def of(self, brand: str, content_id: UUID) -> SendingHold | None:
        """Why a post about an article does not go out now; None if it may.

        Raises:
            WaitFor: the orchestrator is unavailable, or its answer is invalid.
        """
        if self._client is None:
            return None
        try:
            if _Brand.model_validate_json(
                await self._read(self._client, f"/v1/brands/{brand}", f"brand {brand}")
            ).paused_at:
                return SendingHold(
                    PostRefusal(
                        "brand_paused", f"the brand {brand} is paused: brandctl brands resume {brand}"
                    )
                )
            article = _Article.model_validate_json(
                await self._read(self._client, f"/v1/content/{content_id}", f"content {content_id}")
            )
        except GoneError:
            return SendingHold(PostRefusal("article_deleted", "its article was deleted"), pause=None)
        except NotThereError as problem:
            return SendingHold(PostRefusal("article_unknown", f"{problem}; it is looked at again"))
        except PassingError as problem:
            raise WaitFor("orchestrator", str(problem), after=problem.after) from problem
        except (UnusableAnswerError, ValidationError) as problem:
            raise WaitFor("orchestrator", f"its answer cannot be read: {problem}") from problem
        if article.taken_down_at is not None:
            return SendingHold(
                PostRefusal(
                    "page_taken_down",
                    "the article's page is taken down: no post leads there until it is back",
                )
            )
        return None

    async def _read(self, client: ServiceClient, path: str, about: str) -> bytes:
        etag, body = self._known.get(path, (None, b""))
        async with self._orchestrator.call():
            answer = await client.get(path, about=about, known_etag=etag)
        if isinstance(answer, Unchanged):
            self._known.move_to_end(path)
            return body
        if answer.etag is not None:
            self._known[path] = (answer.etag, answer.body)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return answer.body
