"""Reads research by id over its service's read-only HTTP API."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, SecretStr

from chassis.http.client import JsonAnswer, PassingError, Peer, ServiceClient, UnusableAnswerError
from chassis.http.documents import Documents
from chassis.links import public_link
from messaging import Dependency, RetryLater, Unprocessable
from writing.article import ArticleSource, SourcePassage

MAX_BYTES: Final = 8 * 1024 * 1024
"""Bytes; a larger answer of the research service is rejected."""
MAX_LINE: Final = 300
"""Characters; longer titles and headings are cut."""


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


Text = Annotated[str, AfterValidator(_without_nul)]


class _Passage(BaseModel):
    heading: Text | None = None
    text: Text
    score: float


class _Source(BaseModel):
    n: int = Field(ge=1)
    title: Text
    url: Text | None = None
    path: Text | None = None
    licence: Text | None = None
    published_on: date | None = None
    author: Text | None = None
    quotable: bool = True
    passages: tuple[_Passage, ...]


class _Research(BaseModel):
    brand_slug: str | None = None
    """None from an older research service, which does not send it."""
    sources: tuple[_Source, ...]


@dataclass(frozen=True, slots=True)
class _StoredResearch:
    brand_slug: str | None
    sources: tuple[ArticleSource, ...]


class _Item(_Research):
    research_id: UUID


class _List(BaseModel):
    items: tuple[_Item, ...]


class ResearchClient:
    """Client of the research service at `url` (RESEARCH_URL); create one per process. `research` tracks outages."""

    def __init__(
        self, url: str, service_key: SecretStr, *, timeout_seconds: float, research: Dependency
    ) -> None:
        self._research = research
        peer = Peer("research", url, "RESEARCH_URL", service_key)
        self._client = ServiceClient(peer, timeout_seconds=timeout_seconds, max_bytes=MAX_BYTES)
        self._researches = Documents(self._client, "research", read_one=_read_one, read_list=_read_list)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def fetch(self, research_id: UUID, brand_slug: str) -> tuple[ArticleSource, ...]:
        """Returns the sources of a brand's research, best first.

        Raises:
            WaitFor: research is away, busy, or refuses our key.
            RetryLater: research failed for this id, or does not know it (yet).
            Unprocessable: the answer is unusable, now and later, or the research belongs to another brand.
        """
        try:
            async with self._research.call():
                found = await self._researches.get(research_id)
        except PassingError as problem:
            raise RetryLater(str(problem), after=problem.after) from problem
        except UnusableAnswerError as problem:
            raise Unprocessable(str(problem)) from problem
        if found.brand_slug not in {None, brand_slug}:
            raise Unprocessable(
                f"research {research_id} belongs to brand {found.brand_slug!r}, the command says {brand_slug!r}; nothing"
                " was written"
            )
        return found.sources


def _read_one(_: UUID, answer: JsonAnswer) -> _StoredResearch:
    return _found(_Research.model_validate_json(answer.body))


def _read_list(body: bytes) -> dict[UUID, _StoredResearch]:
    return {item.research_id: _found(item) for item in _List.model_validate_json(body).items}


def _found(research: _Research) -> _StoredResearch:
    return _StoredResearch(research.brand_slug, tuple(map(_source, research.sources)))


def _source(source: _Source) -> ArticleSource:
    return ArticleSource(
        n=source.n,
        title=source.title[:MAX_LINE],
        url=public_link(source.url),
        path=source.path,
        licence=source.licence,
        published_on=source.published_on,
        author=source.author,
        quotable=source.quotable,
        passages=tuple(
            SourcePassage(
                heading=None if passage.heading is None else passage.heading[:MAX_LINE],
                text=passage.text,
                score=passage.score,
            )
            for passage in source.passages
        ),
    )
