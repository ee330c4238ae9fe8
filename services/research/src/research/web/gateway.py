"""Searches and pages, asked of the gateway; and what its refusals mean for the work that waits for them."""

import asyncio
import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from pydantic import Base64Bytes, BaseModel, Field, SecretStr, ValidationError

from chassis.http.client import FailedError, Peer, Reply, ServiceClient, UnusableAnswerError
from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from research.sources.domain import WebSearch

TIMEOUT_SECONDS: Final = 60.0
MAX_BYTES: Final = 7 * 1024 * 1024
"""Of an answer: a page of 5 MB in base64."""
RESULTS: Final = 15
"""Pages asked for in one search."""
LONGEST_LOOK: Final = timedelta(hours=1)
"""Until a budget is looked at again, at most: somebody may have raised it meanwhile."""
MAX_DETAIL: Final = 500
_COMPLETE: Final = "complete"
_NOT_CONFIGURED: Final = "page.not_configured"
_NO_MONEY: Final = frozenset({"budget.exhausted", "spending.stopped"})
"""As opposed to money that is set aside for calls under way, and may be free again in a moment."""
_NO_PAGE: Final = "about:blank"
_UNUSABLE: Final = "provider.unusable_answer"


class Result(BaseModel):
    """What a search says of a page."""

    url: str
    date: dt.date | None = None


class _Results(BaseModel):
    results: tuple[Result, ...]


class _Said(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Said


class _Told(BaseModel):
    ending: str


class _Completion(BaseModel):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    gateway: _Told


class FetchedPage(BaseModel):
    """A page as its site sent it, with what its headers say."""

    final: str
    """Where the redirects ended."""
    canonical: str | None = None
    media_type: str = ""
    charset: str | None = None
    licence: str | None = None
    robots_tag: str | None = None
    body: Base64Bytes


class LeftOutError(Exception):
    """A page is not read, and why. `passing`: another time it may be, after `after` if that is known."""

    def __init__(self, reason: str, *, passing: bool = False, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.after = after


class NoAnswerError(Exception):
    """A model gave none that can be used; the message says why."""


class NoMoneyError(WaitFor):
    """There is none for this brand before `after`; what costs nothing goes on."""


class Gateway:
    """One for the life of the process; `dependency` knows whether the gateway can be reached.

    What every method may raise:
        WaitFor: the gateway is away, or the work has to wait for money (`NoMoneyError`, if there is none at all), a turn or
            a provider; no attempt is counted.
        RetryLater: it failed over this request.
        Unprocessable: somebody has to do something first; the message says what.
    """

    def __init__(
        self,
        url: str,
        service_key: SecretStr,
        *,
        dependency: Dependency,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._dependency = dependency
        peer = Peer("the gateway", url, "GATEWAY_URL", service_key)
        self._client = ServiceClient(peer, timeout_seconds=timeout_seconds, max_bytes=MAX_BYTES)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def prepare(self) -> None:
        """Asks for what is no page: whether pages are read at all, before a search is paid for.

        And whether the gateway is back if it was away, so that of several calls at once none is refused for not being the first.
        """
        with suppress(LeftOutError):
            await self.page(_NO_PAGE)

    async def search(self, query: str, how: WebSearch, *, brand: str, command: UUID) -> Sequence[Result]:
        """Pages, best first. Of one command the same search is paid for once, however often it is asked."""
        asked: dict[str, Any] = {"query": query, "brand": brand, "count": RESULTS}
        if how.language is not None:
            asked["language"] = how.language
        if how.freshness is not None:
            asked["freshness"] = how.freshness
        # Another request needs another key, should the brand's sources change between two deliveries.
        key = f"{command}/search/{sha256(repr(asked).encode()).hexdigest()[:16]}"
        try:
            reply = await self._ask("POST", "/v1/search", json=asked, headers={"Idempotency-Key": key})
        except FailedError as error:
            raise RetryLater(str(error), after=error.after) from error
        if reply.status != HTTPStatus.OK:
            raise _trouble(reply)
        try:
            return _Results.model_validate_json(reply.body).results
        except ValidationError as error:
            raise _stranger(error) from error

    async def complete(self, request: Mapping[str, Any], *, brand: str, command: UUID, seconds: float) -> str:
        """What a model answers to a chat request. Of one command the same request is paid for once.

        Raises:
            WaitFor: the gateway itself is away.
            NoAnswerError: anything else.
        """
        key = f"{command}/model/{sha256(repr(request).encode()).hexdigest()[:16]}"
        headers = {"Idempotency-Key": key, "X-Brand": brand}
        try:
            async with asyncio.timeout(seconds):
                reply = await self._ask("POST", "/v1/chat/completions", json=request, headers=headers)
        except (FailedError, _TooLargeError) as error:
            raise NoAnswerError(str(error)) from error
        except TimeoutError as error:
            raise NoAnswerError(f"the model did not answer within {seconds:g} seconds") from error
        if reply.status != HTTPStatus.OK:
            raise NoAnswerError(
                f"the gateway says {reply.document.get('type') or reply.status}: {_detail(reply)}"
            )
        try:
            completion = _Completion.model_validate_json(reply.body)
        except ValidationError as error:
            raise NoAnswerError("the model's answer is no chat completion") from error
        if completion.gateway.ending != _COMPLETE:
            raise NoAnswerError(f"the model's answer is not whole ({completion.gateway.ending})")
        return completion.choices[0].message.content

    async def page(self, address: str, *, feed: bool = False) -> FetchedPage:
        """The page, or the feed; raises `LeftOutError` too."""
        asked = {"url": address, "feed": "true"} if feed else {"url": address}
        try:
            reply = await self._ask("GET", f"/v1/pages?{urlencode(asked)}")
        except _TooLargeError:
            raise LeftOutError("it is too large") from None
        except FailedError as error:
            raise LeftOutError(f"the gateway failed over it: {error}", passing=True) from error
        kind = (reply.problem or "") if reply.status != HTTPStatus.OK else ""
        if kind.startswith("page.") and kind != _NOT_CONFIGURED:
            passing = reply.status == HTTPStatus.FAILED_DEPENDENCY
            raise LeftOutError(_detail(reply), passing=passing, after=reply.after)
        if reply.status != HTTPStatus.OK:
            raise _trouble(reply)
        try:
            return FetchedPage.model_validate_json(reply.body)
        except ValidationError as error:
            raise _stranger(error) from error

    async def _ask(self, method: str, path: str, **request: Any) -> Reply:
        try:
            async with self._dependency.call():
                return await self._client.ask(method, path, **request)
        except UnusableAnswerError as error:
            raise _TooLargeError(str(error)) from error


class _TooLargeError(Unprocessable):
    """The only kind of answer that is not taken at all."""


def _trouble(reply: Reply) -> Exception:
    """What a refusal means that is not about one page."""
    problem: Mapping[str, Any] = reply.document
    kind = reply.problem
    told = f"the gateway says {kind or reply.status}: {_detail(reply)}"
    if reply.status == HTTPStatus.PAYMENT_REQUIRED:
        kind_of_wait = NoMoneyError if kind in _NO_MONEY else WaitFor
        return kind_of_wait("the budget for searches", told, after=_until(reply))
    if kind and reply.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        # About a brand or a provider, and not about the gateway: others go on.
        return WaitFor("the web search", told, after=reply.after)
    passing = problem.get("transient") is True  # such as a provider that did not answer what counts as paid
    if passing or kind == _UNUSABLE or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return RetryLater(told, after=reply.after)
    if kind:
        return Unprocessable(f"{told}; then replay")
    return Unprocessable(f"{told}; check that GATEWAY_URL names a gateway of this version, then replay")


def _until(reply: Reply) -> timedelta:
    """Until there is money again, or somebody may have seen to it."""
    try:
        moment = datetime.fromisoformat(str(reply.document.get("retry_at")))
        wait = max(moment - datetime.now(UTC), timedelta(seconds=1))
    except (ValueError, TypeError):
        wait = reply.after or LONGEST_LOOK
    return min(wait, LONGEST_LOOK)


def _detail(reply: Reply) -> str:
    return str(reply.document.get("detail") or "no reason is given")[:MAX_DETAIL]


def _stranger(error: ValidationError) -> Unprocessable:
    fields = ", ".join(".".join(map(str, problem["loc"])) or "body" for problem in error.errors()[:3])
    return Unprocessable(
        f"the gateway's answer does not follow the contract ({fields}); bring both services to versions that fit, then"
        " replay"
    )
