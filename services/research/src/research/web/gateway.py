"""Client of the gateway for searches, pages and completions; turns its refusals into waits, retries and failures."""

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
from messaging import CostReached, Dependency, RetryLater, Unprocessable, WaitFor
from research.sources.domain import WebSearchSettings

TIMEOUT_SECONDS: Final = 60.0
MAX_BYTES: Final = 7 * 1024 * 1024
"""Maximum size of an answer: a page of 5 MB in base64."""
RESULTS: Final = 15
"""Results per search."""
LONGEST_LOOK: Final = timedelta(seconds=45)
"""Maximum wait for a budget: an operator may raise it meanwhile, and work goes on within a minute of that."""
MAX_DETAIL: Final = 500
_COMPLETE: Final = "complete"
_NOT_CONFIGURED: Final = "page.not_configured"
_NO_MONEY: Final = frozenset({"budget.exhausted", "spending.stopped"})
"""Not `budget.set_aside`: that money may be free again in a moment."""
_COST_REACHED: Final = "cost.reached"
_NO_PAGE: Final = "about:blank"
_UNUSABLE: Final = "provider.unusable_answer"


class SearchResult(BaseModel):
    """One result of a web search."""

    url: str
    date: dt.date | None = None


class _SearchResults(BaseModel):
    results: tuple[SearchResult, ...]


class _CompletionMessage(BaseModel):
    content: str


class _CompletionChoice(BaseModel):
    message: _CompletionMessage


class _CompletionEnding(BaseModel):
    ending: str


class _Completion(BaseModel):
    choices: Annotated[tuple[_CompletionChoice, ...], Field(min_length=1)]
    gateway: _CompletionEnding


class FetchedPage(BaseModel):
    """A page as its site sent it, with facts from its headers."""

    final: str
    """Address after all redirects."""
    canonical: str | None = None
    media_type: str = ""
    charset: str | None = None
    licence: str | None = None
    robots_tag: str | None = None
    body: Base64Bytes


class PageSkippedError(Exception):
    """Research skips a page for this reason. `passing`: a retry may succeed, after `after` if known."""

    def __init__(self, reason: str, *, passing: bool = False, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.after = after


class NoCompletionError(Exception):
    """The model gave no usable answer; the message has the reason."""


class BudgetExhaustedError(WaitFor):
    """The brand's budget is used up until `after`; free work continues."""


class ResearchGateway:
    """The gateway's API, as research uses it: one client per process. `dependency` tracks whether it is reachable.

    Every method may raise:
        WaitFor: the gateway is away, or the work waits for budget (`BudgetExhaustedError` if it is used up), a rate
            limit or a provider; no attempt is counted.
        RetryLater: the gateway failed on this request.
        Unprocessable: an operator has to act first; the message says how.
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
        """Check that the gateway is reachable and reads pages, before a search costs money.

        After an outage this is the first call, so that none of the parallel calls that follow is refused.
        """
        with suppress(PageSkippedError):
            await self.fetch_page(_NO_PAGE)

    async def search(
        self, query: str, how: WebSearchSettings, *, brand: str, command: UUID
    ) -> Sequence[SearchResult]:
        """Search the web; return results, best first. Repeated searches of one command are charged once."""
        asked: dict[str, Any] = {"query": query, "brand": brand, "count": RESULTS}
        if how.language is not None:
            asked["language"] = how.language
        if how.freshness is not None:
            asked["freshness"] = how.freshness
        # A different request needs a different key: the brand's settings may change between two deliveries.
        key = f"{command}/search/{sha256(repr(asked).encode()).hexdigest()[:16]}"
        try:
            reply = await self._ask("POST", "/v1/search", json=asked, headers={"Idempotency-Key": key})
        except FailedError as error:
            raise RetryLater(str(error), after=error.after) from error
        if reply.status != HTTPStatus.OK:
            raise _refusal_error(reply)
        try:
            return _SearchResults.model_validate_json(reply.body).results
        except ValidationError as error:
            raise _contract_error(error) from error

    async def complete(self, request: Mapping[str, Any], *, brand: str, command: UUID, seconds: float) -> str:
        """Send a chat request to a model; return its answer. Repeated requests of one command are charged once.

        Raises:
            WaitFor: the gateway itself is away.
            NoCompletionError: anything else.
        """
        key = f"{command}/model/{sha256(repr(request).encode()).hexdigest()[:16]}"
        headers = {"Idempotency-Key": key, "X-Brand": brand}
        try:
            async with asyncio.timeout(seconds):
                reply = await self._ask("POST", "/v1/chat/completions", json=request, headers=headers)
        except (FailedError, _AnswerTooLargeError) as error:
            raise NoCompletionError(str(error)) from error
        except TimeoutError as error:
            raise NoCompletionError(f"the model did not answer within {seconds:g} seconds") from error
        if reply.status != HTTPStatus.OK:
            raise NoCompletionError(
                f"the gateway says {reply.document.get('type') or reply.status}: {_detail(reply)}"
            )
        try:
            completion = _Completion.model_validate_json(reply.body)
        except ValidationError as error:
            raise NoCompletionError("the model's answer is not a chat completion") from error
        if completion.gateway.ending != _COMPLETE:
            raise NoCompletionError(f"the model's answer is incomplete ({completion.gateway.ending})")
        return completion.choices[0].message.content

    async def fetch_page(self, address: str, *, feed: bool = False) -> FetchedPage:
        """Fetch a page or a feed. Raises `PageSkippedError` if the gateway does not deliver it."""
        asked = {"url": address, "feed": "true"} if feed else {"url": address}
        try:
            reply = await self._ask("GET", f"/v1/pages?{urlencode(asked)}")
        except _AnswerTooLargeError:
            raise PageSkippedError("it is too large") from None
        except FailedError as error:
            raise PageSkippedError(f"the gateway failed on it: {error}", passing=True) from error
        kind = (reply.problem or "") if reply.status != HTTPStatus.OK else ""
        if kind.startswith("page.") and kind != _NOT_CONFIGURED:
            passing = reply.status == HTTPStatus.FAILED_DEPENDENCY
            raise PageSkippedError(_detail(reply), passing=passing, after=reply.after)
        if reply.status != HTTPStatus.OK:
            raise _refusal_error(reply)
        try:
            return FetchedPage.model_validate_json(reply.body)
        except ValidationError as error:
            raise _contract_error(error) from error

    async def _ask(self, method: str, path: str, **request: Any) -> Reply:
        try:
            async with self._dependency.call():
                return await self._client.ask(method, path, **request)
        except UnusableAnswerError as error:
            raise _AnswerTooLargeError(str(error)) from error


class _AnswerTooLargeError(Unprocessable):
    """The answer exceeds `MAX_BYTES`; the client accepts every other answer."""


def _refusal_error(reply: Reply) -> Exception:
    """Return the exception for a refusal that does not concern a single page."""
    problem: Mapping[str, Any] = reply.document
    kind = reply.problem
    told = f"the gateway says {kind or reply.status}: {_detail(reply)}"
    if reply.status == HTTPStatus.PAYMENT_REQUIRED:
        kind_of_wait = BudgetExhaustedError if kind in _NO_MONEY else WaitFor
        return kind_of_wait("the budget for searches", told, after=_budget_wait(reply))
    if kind and reply.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        # This concerns a brand or a provider, not the gateway: other work continues.
        return WaitFor("the web search", told, after=reply.after)
    if kind == _COST_REACHED:
        return CostReached(_detail(reply))
    passing = (
        problem.get("transient") is True
    )  # such as a provider that did not answer a call that counts as paid
    if passing or kind == _UNUSABLE or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return RetryLater(told, after=reply.after)
    if kind:
        return Unprocessable(f"{told}; then replay")
    return Unprocessable(f"{told}; check that GATEWAY_URL names a gateway of this version, then replay")


def _budget_wait(reply: Reply) -> timedelta:
    """Return the time until the budget renews, `LONGEST_LOOK` at most."""
    try:
        moment = datetime.fromisoformat(str(reply.document.get("retry_at")))
        wait = max(moment - datetime.now(UTC), timedelta(seconds=1))
    except (ValueError, TypeError):
        wait = reply.after or LONGEST_LOOK
    return min(wait, LONGEST_LOOK)


def _detail(reply: Reply) -> str:
    return str(reply.document.get("detail") or "no reason is given")[:MAX_DETAIL]


def _contract_error(error: ValidationError) -> Unprocessable:
    fields = ", ".join(".".join(map(str, problem["loc"])) or "body" for problem in error.errors()[:3])
    return Unprocessable(
        f"the gateway's answer does not follow the contract ({fields}); bring both services to versions that fit, then"
        " replay"
    )
