"""Reads what research found, by id, over its read-only HTTP API."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, SecretStr

from chassis.http.client import JsonAnswer, PassingError, Peer, ServiceClient, UnusableAnswerError
from chassis.http.documents import Documents
from chassis.links import public_link
from messaging import Dependency, RetryLater, Unprocessable
from orchestrator.writing.article import Passage, Source

MAX_BYTES: Final = 8 * 1024 * 1024
"""A research document larger than this is not read: it would not be one."""
MAX_LINE: Final = 300
"""Characters of a title or heading; what goes beyond is no name of anything."""


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
    quotable: bool = True
    passages: tuple[_Passage, ...]


class _Research(BaseModel):
    brand_slug: str | None = None
    """None from a research service that does not say."""
    sources: tuple[_Source, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    brand_slug: str | None
    sources: tuple[Source, ...]


class _Item(_Research):
    research_id: UUID


class _List(BaseModel):
    items: tuple[_Item, ...]


class ResearchClient:
    """`url` as of RESEARCH_URL; one for the life of the service. `research` knows whether it can be reached."""

    def __init__(
        self, url: str, service_key: SecretStr, *, timeout_seconds: float, research: Dependency
    ) -> None:
        self._research = research
        peer = Peer("research", url, "RESEARCH_URL", service_key)
        self._client = ServiceClient(peer, timeout_seconds=timeout_seconds, max_bytes=MAX_BYTES)
        self._researches = Documents(self._client, "research", read_one=_read_one, read_list=_read_list)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def fetch(self, research_id: UUID, brand_slug: str) -> tuple[Source, ...]:
        """The sources of a brand's research, best first.

        Raises:
            WaitFor: research is away, busy, or refuses our key.
            RetryLater: it failed over this id, or does not know it (yet).
            Unprocessable: it answered with something that no later attempt would better, or the research is another
                brand's.
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


def _read_one(_: UUID, answer: JsonAnswer) -> _Found:
    return _found(_Research.model_validate_json(answer.body))


def _read_list(body: bytes) -> dict[UUID, _Found]:
    return {item.research_id: _found(item) for item in _List.model_validate_json(body).items}


def _found(research: _Research) -> _Found:
    return _Found(research.brand_slug, tuple(map(_source, research.sources)))


def _source(source: _Source) -> Source:
    return Source(
        n=source.n,
        title=source.title[:MAX_LINE],
        url=public_link(source.url),
        path=source.path,
        licence=source.licence,
        published_on=source.published_on,
        quotable=source.quotable,
        passages=tuple(
            Passage(
                heading=None if passage.heading is None else passage.heading[:MAX_LINE],
                text=passage.text,
                score=passage.score,
            )
            for passage in source.passages
        ),
    )
