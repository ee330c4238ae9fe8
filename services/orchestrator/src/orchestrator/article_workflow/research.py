"""Reads research by id over its service's read-only HTTP API."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, Field, PlainValidator, SecretStr

from chassis.http.client import JsonAnswer, PassingError, Peer, ServiceClient, UnusableAnswerError
from chassis.http.documents import Documents
from chassis.links import public_link
from documents.json_form import decode_section
from documents.sections import Section
from messaging import Dependency, RetryLater, Unprocessable
from writing.article import ArticleSource, SourcePassage

MAX_BYTES: Final = 8 * 1024 * 1024
"""Bytes; a larger answer of the research service is rejected."""
MAX_TITLES: Final = 12
MAX_LINE: Final = 300
"""Characters; longer titles and headings are cut."""


_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def _without_nul(body: bytes) -> bytes:
    """Returns JSON without the one character that no database takes."""
    return _NUL.sub(rb"\1", body) if b"\\u0000" in body else body


class _Passage(BaseModel):
    heading: str | None = None
    text: str
    score: float


def _decode_section(value: Any) -> Section | None:
    return None if value is None else decode_section(value)


class _Source(BaseModel):
    n: int = Field(ge=1)
    title: str
    url: str | None = None
    path: str | None = None
    licence: str | None = None
    published_on: date | None = None
    author: str | None = None
    quotable: bool = True
    work: str | None = None
    passages: tuple[_Passage, ...]
    # An older research service sends none of these.
    section: Annotated[Section | None, PlainValidator(_decode_section)] = None
    about: float = 0.0
    titles_above: tuple[str, ...] = ()


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
    return _found(_Research.model_validate_json(_without_nul(answer.body)))


def _read_list(body: bytes) -> dict[UUID, _StoredResearch]:
    return {item.research_id: _found(item) for item in _List.model_validate_json(_without_nul(body)).items}


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
        work=source.work and source.work[:MAX_LINE],
        passages=tuple(
            SourcePassage(
                heading=None if passage.heading is None else passage.heading[:MAX_LINE],
                text=passage.text,
                score=passage.score,
            )
            for passage in source.passages
        ),
        section=source.section,
        about=source.about,
        titles_above=tuple(title[:MAX_LINE] for title in source.titles_above[:MAX_TITLES]),
    )
