"""Reads what research found, by id, over its read-only HTTP API."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

import httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from chassis.http.gathering import Gathering
from chassis.http.spans import Exchange, client_span
from messaging import RetryLater, Unprocessable
from orchestrator.writing.article import Passage, Source

MAX_BYTES: Final = 8 * 1024 * 1024
"""A research document larger than this is not read: it would not be one."""

MAX_AT_ONCE: Final = 16
"""Documents asked for in one request."""


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
    passages: tuple[_Passage, ...]


class _Research(BaseModel):
    sources: tuple[_Source, ...]


class _Item(_Research):
    research_id: UUID


class _List(BaseModel):
    items: tuple[_Item, ...]


_Sources = tuple[Source, ...]


class ResearchClient:
    """`base_url` as of RESEARCH_URL; `timeout` in seconds, for the whole exchange."""

    def __init__(self, base_url: str, service_key: str, timeout: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        # One for the life of the service, so that connections are used again; let go before research, which closes
        # idle ones after 5 seconds, can close one under a request.
        self._http = httpx.AsyncClient(
            headers={"X-Service-Key": service_key},
            timeout=timeout,
            limits=httpx.Limits(keepalive_expiry=2.0),
            follow_redirects=False,
            trust_env=False,
        )
        self._gathering: Gathering[UUID, _Sources] = Gathering(self._ask, limit=MAX_AT_ONCE)

    async def fetch(self, research_id: UUID) -> tuple[Source, ...]:
        """The sources of a research, best first.

        Raises:
            RetryLater: research cannot be reached, is busy, or does not know the id (yet).
            Unprocessable: it answered with something that no later attempt would better.
        """
        return await self._gathering.get(research_id)

    async def _ask(self, research_ids: Sequence[UUID]) -> dict[UUID, _Sources | Exception]:
        answers: dict[UUID, _Sources | Exception] = {}
        if len(research_ids) > 1:
            with suppress(Unprocessable):
                # Whatever is wrong with one of them, asking alone will tell, and not at its neighbours' expense.
                answers.update(await self._several(research_ids))
        for research_id in research_ids:
            if research_id not in answers:
                answers[research_id] = await self._one_or_problem(research_id)
        return answers

    async def _several(self, research_ids: Sequence[UUID]) -> dict[UUID, _Sources]:
        query = "&".join(f"id={research_id}" for research_id in research_ids)
        body = await self._get(f"{self._base_url}/v1/research?{query}")
        try:
            found = _List.model_validate_json(body)
        except ValidationError as exc:
            raise Unprocessable("not in the agreed form") from exc
        return {item.research_id: tuple(map(_source, item.sources)) for item in found.items}

    async def _one_or_problem(self, research_id: UUID) -> _Sources | Exception:
        try:
            return await self._one(research_id)
        except (RetryLater, Unprocessable) as problem:
            return problem

    async def _one(self, research_id: UUID) -> _Sources:
        body = await self._get(f"{self._base_url}/v1/research/{research_id}")
        try:
            research = _Research.model_validate_json(body)
        except ValidationError as exc:
            problem = exc.errors(include_url=False, include_input=False)[0]
            raise Unprocessable(
                f"research {research_id} is not in the agreed form ({problem['loc']}: {problem['msg']}); "
                "bring research and orchestrator to versions that fit, then replay"
            ) from exc
        return tuple(map(_source, research.sources))

    async def _get(self, url: str) -> bytes:
        try:
            # The client's own timeouts are per read: a slow trickle would keep them content for ever.
            async with asyncio.timeout(self._timeout):
                return await self._read(url)
        except (httpx.TransportError, httpx.InvalidURL, TimeoutError) as exc:
            raise RetryLater(f"research does not answer at {url}: {exc!r}") from exc

    async def _read(self, url: str) -> bytes:
        with client_span("GET", url) as exchange:
            return await self._exchange(url, exchange)

    async def _exchange(self, url: str, exchange: Exchange) -> bytes:
        async with self._http.stream("GET", url, headers=exchange.headers) as response:
            exchange.answered(response.status_code)
            _check(response, url)
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise Unprocessable(f"research at {url} is larger than {MAX_BYTES:,} bytes")
            return bytes(body)


def _check(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    problem = f"research answered {status} at {url}"
    if status == HTTPStatus.NOT_FOUND and response.url.query:
        # A list leaves out what is unknown: this is a research of a version that has no lists yet.
        raise Unprocessable(problem)
    # A wrong key or a missing document is put right by someone else, so these are worth another attempt too.
    patient = (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.REQUEST_TIMEOUT,
    )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in {*patient, HTTPStatus.TOO_MANY_REQUESTS}:
        raise RetryLater(problem, after=retry_after(response.headers.get("retry-after"), datetime.now(UTC)))
    raise Unprocessable(problem)


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """The wait that a Retry-After header asks for, in seconds or as a date (RFC 9110); None if it says nothing."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return timedelta(seconds=min(int(header), 86_400))
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max(at - now, timedelta()), timedelta(days=1))


def _source(source: _Source) -> Source:
    return Source(
        n=source.n,
        title=source.title,
        url=source.url,
        path=source.path,
        licence=source.licence,
        passages=tuple(
            Passage(heading=passage.heading, text=passage.text, score=passage.score)
            for passage in source.passages
        ),
    )
