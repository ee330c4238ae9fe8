"""Reading articles from the orchestrator: `GET /v1/content/{id}`."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Self
from uuid import UUID

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

from chassis.http.gathering import Gathering
from chassis.http.spans import client_span
from messaging import RetryLater, Unprocessable
from publisher.domain import Article

_CONNECT_SECONDS = 3.0
_AT_ONCE = 16
# A server that asks for more than this is obeyed no further: the message would seem lost.
_LONGEST_WAIT = timedelta(hours=1)
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class Fetched:
    article: Article
    etag: str | None


class _Listed(BaseModel):
    etag: str
    content: Article


class _List(BaseModel):
    items: tuple[_Listed, ...]


class Unchanged:
    """The article is still the one with the entity tag that was sent."""


class OrchestratorClient:
    """One client for the life of the service. Nothing is retried here: that is the message's business."""

    def __init__(self, base_url: str, key: SecretStr, *, timeout_seconds: float, max_bytes: int) -> None:
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._http = httpx.AsyncClient(
            base_url=base_url,
            # Uncompressed, so that the limit on bytes is one on memory too.
            headers={
                "X-Service-Key": key.get_secret_value(),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            # Let go of before the orchestrator, which closes idle ones after 5 seconds, can close one under a request.
            limits=httpx.Limits(keepalive_expiry=2.0),
            follow_redirects=False,
            trust_env=False,  # a proxy of the surroundings has no place between two services
        )
        self._gathering: Gathering[UUID, Fetched] = Gathering(self._ask, limit=_AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def article(self, content_id: UUID, *, known_etag: str | None = None) -> Fetched | Unchanged:
        """The article as it stands, or `Unchanged` if `known_etag` still names it.

        Raises:
            RetryLater: no answer in time, a connection or server error, a refused key, or an article that is not
                there yet.
            Unprocessable: an answer that does not follow the contract, or one that is too large.
        """
        if known_etag is None:
            return await self._gathering.get(content_id)
        async with self._answer(f"/v1/content/{content_id}", {"If-None-Match": known_etag}) as response:
            if response.status_code == HTTPStatus.NOT_MODIFIED:
                return Unchanged()
            return await self._fetched(response, content_id)

    async def _ask(self, content_ids: Sequence[UUID]) -> dict[UUID, Fetched | Exception]:
        answers: dict[UUID, Fetched | Exception] = {}
        if len(content_ids) > 1:
            with suppress(Unprocessable):
                # Whatever is wrong with one of them, asking alone will tell, and not at its neighbours' expense.
                answers.update(await self._several(content_ids))
        for content_id in content_ids:
            if content_id not in answers:
                answers[content_id] = await self._one_or_problem(content_id)
        return answers

    async def _several(self, content_ids: Sequence[UUID]) -> dict[UUID, Fetched]:
        query = "&".join(f"id={content_id}" for content_id in content_ids)
        async with self._answer(f"/v1/content?{query}") as response:
            if response.status_code == HTTPStatus.NOT_FOUND:
                raise Unprocessable("an orchestrator of a version that has no lists yet")
            _check(response, "several")
            body = await self._body(response)
        try:
            found = _List.model_validate_json(body)
        except ValidationError as error:
            raise Unprocessable("the orchestrator's answer does not follow the contract") from error
        return {item.content.content_id: Fetched(item.content, item.etag) for item in found.items}

    async def _one_or_problem(self, content_id: UUID) -> Fetched | Exception:
        try:
            async with self._answer(f"/v1/content/{content_id}") as response:
                return await self._fetched(response, content_id)
        except (RetryLater, Unprocessable) as problem:
            return problem

    async def _fetched(self, response: httpx.Response, content_id: UUID) -> Fetched:
        _check(response, content_id)
        return Fetched(_parse(await self._body(response), content_id), response.headers.get("ETag"))

    @asynccontextmanager
    async def _answer(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        url = f"{str(self._http.base_url).rstrip('/')}{path}"
        try:
            with client_span("GET", url) as exchange:
                # Each read is bounded by the client, their sum by this.
                async with (
                    asyncio.timeout(self._timeout_seconds),
                    self._http.stream(
                        "GET", path, headers={**(headers or {}), **exchange.headers}
                    ) as response,
                ):
                    exchange.answered(response.status_code)
                    yield response
        except (httpx.TransportError, TimeoutError) as error:
            raise RetryLater(
                f"the orchestrator did not answer {path}: {type(error).__name__} {error}".rstrip()
            ) from error

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_bytes:
                raise Unprocessable(
                    f"the article is larger than {self._max_bytes} bytes; shorten it or raise CONTENT_MAX_BYTES"
                )
        return bytes(body)


def _check(response: httpx.Response, content_id: UUID | str) -> None:
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.NOT_FOUND:
        # The orchestrator commits the article before it asks for its publication, so this passes: a restore or a
        # replica that lags behind. If it does not, the attempts run out and say so.
        raise RetryLater(f"the orchestrator does not know content {content_id} (yet)")
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise RetryLater(
            "the orchestrator refused our key; give both services the same SERVICE_KEY and restart this one"
        )
    if response.is_server_error or status in _PASSING:
        raise RetryLater(f"the orchestrator answered {status}", after=retry_after(response.headers, _now()))
    raise Unprocessable(
        f"the orchestrator answered {status} for content {content_id}; check that ORCHESTRATOR_URL names an orchestrator"
    )


def _parse(body: bytes, content_id: UUID) -> Article:
    try:
        article = Article.model_validate_json(body)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'body'}: {problem['msg']}"
            for problem in error.errors()[:5]
        )
        raise Unprocessable(f"the orchestrator's answer does not follow the contract ({problems})") from error
    if article.content_id != content_id:
        raise Unprocessable(f"asked for content {content_id}, the orchestrator sent {article.content_id}")
    return article


def retry_after(headers: httpx.Headers, now: datetime) -> timedelta | None:
    """What `Retry-After` asks for, in seconds or as a date (RFC 9110, 10.2.3); None without or if unreadable."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return timedelta(seconds=min(int(value[:9]), _LONGEST_WAIT.total_seconds()))
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta()), _LONGEST_WAIT)


def _now() -> datetime:
    return datetime.now(UTC)
