"""Reads what research found, by id, over its read-only HTTP API."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

import httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from messaging import RetryLater, Unprocessable
from orchestrator.article import Passage, Source

MAX_BYTES: Final = 8 * 1024 * 1024
"""A research document larger than this is not read: it would not be one."""


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


class ResearchClient:
    """`base_url` as of RESEARCH_URL; `timeout` in seconds, for the whole exchange."""

    def __init__(self, base_url: str, service_key: str, timeout: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._service_key = service_key
        self._timeout = timeout
        # Reading the certificate store takes tens of milliseconds, so it is done once.
        self._ssl = ssl.create_default_context()

    async def fetch(self, research_id: UUID) -> tuple[Source, ...]:
        """The sources of a research, best first.

        Raises:
            RetryLater: research cannot be reached, is busy, or does not know the id (yet).
            Unprocessable: it answered with something that no later attempt would better.
        """
        url = f"{self._base_url}/v1/research/{research_id}"
        try:
            # The client's own timeouts are per read: a slow trickle would keep them content for ever.
            async with asyncio.timeout(self._timeout):
                body = await self._read(url)
        except (httpx.TransportError, httpx.InvalidURL, TimeoutError) as exc:
            raise RetryLater(f"research does not answer at {url}: {exc!r}") from exc
        try:
            research = _Research.model_validate_json(body)
        except ValidationError as exc:
            problem = exc.errors(include_url=False, include_input=False)[0]
            raise Unprocessable(
                f"research {research_id} is not in the agreed form ({problem['loc']}: {problem['msg']}); "
                "bring research and orchestrator to versions that fit, then replay"
            ) from exc
        return tuple(_source(source) for source in research.sources)

    async def _read(self, url: str) -> bytes:
        async with (
            httpx.AsyncClient(verify=self._ssl, timeout=self._timeout, trust_env=False) as client,
            client.stream("GET", url, headers={"X-Service-Key": self._service_key}) as response,
        ):
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
