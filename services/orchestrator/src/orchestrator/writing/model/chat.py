"""The language model over `POST {MODEL_URL}/chat/completions`, as OpenAI, Ollama, vLLM, llama.cpp and the gateway speak it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias

import httpx
from pydantic import BaseModel, Field, SecretStr, ValidationError

from chassis.http.client import FailedError, UnavailableError, retry_after
from chassis.http.spans import Exchange, client_span
from messaging import Dependency, RetryLater, Unprocessable, WaitFor

MAX_BYTES: Final = 2 * 1024 * 1024
CONNECT_SECONDS: Final = 3.0
NO_CREDIT: Final = "insufficient_quota"
FILTERED: Final = "content_filter"
TOO_SMALL: Final = "budget.too_small"
"""What the gateway calls a budget that no period would make large enough."""
CONTEXT_EXCEEDED: Final = {"exceed_context_size_error", "context_length_exceeded"}
BUDGET: Final = "the model's budget"
MAX_DETAIL: Final = 300
_NEXT_PERIOD: Final = timedelta(hours=1)
"""Until a budget is looked at again, if nobody says when its next period begins."""
_LONGEST_PERIOD: Final = timedelta(days=31)

Message: TypeAlias = Mapping[str, str]


class Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completion(BaseModel):
    """One answer as it is kept: what was said, how it ended, what it cost."""

    content: str
    finish_reason: str
    refusal: str | None = None
    model: str
    usage: Usage

    @property
    def refused(self) -> bool:
        return self.refusal is not None or self.finish_reason == FILTERED


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Answer(BaseModel):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    model: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `key` is the same when the same is asked again, so that whoever counts money takes it once."""

    brand_slug: str
    key: str
    messages: tuple[Message, ...]
    response_format: Mapping[str, Any]
    max_tokens: int


class Chat:
    """One for the life of the process.

    Args:
        url: MODEL_URL, to which `/chat/completions` is added. Whoever answers there gets the service's key.
        model: the name that the request carries.
        timeout_seconds: for one whole answer.
        dependency: whether the model can be reached.
    """

    def __init__(
        self, url: str, service_key: SecretStr, *, model: str, timeout_seconds: float, dependency: Dependency
    ) -> None:
        self.model = model
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._timeout_seconds = timeout_seconds
        self._dependency = dependency
        self._http = httpx.AsyncClient(
            headers={
                "X-Service-Key": service_key.get_secret_value(),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
            limits=httpx.Limits(keepalive_expiry=2.0),
            follow_redirects=False,
            trust_env=False,
        )

    async def complete(self, request: Request) -> Completion:
        """Asks once.

        Raises:
            WaitFor: the model is away or wants a rest, or the budget is spent: nothing is wrong with the question.
            RetryLater: it failed over this question.
            Unprocessable: it does not take this question, now or later; the message says what to do.
        """
        try:
            async with self._dependency.call():
                status, headers, body = await self._post(request)
        except FailedError as error:
            raise RetryLater(str(error), after=error.after) from error
        if status == HTTPStatus.OK:
            return self._read(body)
        if _code(body) == FILTERED:
            return Completion(content="", finish_reason=FILTERED, model=self.model, usage=Usage())
        raise _refusal(status, headers, body)

    async def _post(self, request: Request) -> tuple[int, httpx.Headers, bytes]:
        """Whatever is an answer to this question; an outage is none.

        Raises:
            UnavailableError: the model is away.
            FailedError: it is there, and failed.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                with client_span("POST", self._url) as exchange:
                    return await self._exchange(request, exchange)
        except (httpx.TransportError, httpx.InvalidURL, TimeoutError) as error:
            raise UnavailableError(f"the model does not answer at {self._url}: {error!r}") from error

    async def _exchange(self, request: Request, exchange: Exchange) -> tuple[int, httpx.Headers, bytes]:
        # What another command was answered is not asked for: a replay is there to get another answer.
        headers = {
            "Idempotency-Key": request.key,
            "X-Brand": request.brand_slug,
            "Cache-Control": "no-cache",
            **exchange.headers,
        }
        sent = self._http.build_request(
            "POST",
            self._url,
            headers=headers,
            json={
                "model": self.model,
                "messages": list(request.messages),
                "response_format": request.response_format,
                "max_tokens": request.max_tokens,
                "temperature": 0.2,
                "stream": False,
            },
        )
        async with aclosing(await self._http.send(sent, stream=True)) as response:
            exchange.answered(response.status_code)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise FailedError(f"the model's answer is larger than {MAX_BYTES} bytes")
            _check(response, bytes(body))
            return response.status_code, response.headers, bytes(body)

    def _read(self, body: bytes) -> Completion:
        try:
            answer = _Answer.model_validate_json(body)
        except ValidationError as error:
            raise RetryLater(f"the model's answer is no chat completion: {_excerpt(body)}") from error
        choice = answer.choices[0]
        return Completion(
            content=(choice.message.content or "").replace("\x00", ""),
            finish_reason=choice.finish_reason or "stop",
            refusal=choice.message.refusal or None,
            model=answer.model or self.model,
            usage=answer.usage or Usage(),
        )


def _check(response: httpx.Response, body: bytes) -> None:
    """Tells an outage, which says nothing about the question, from an answer to it."""
    status = response.status_code
    after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise UnavailableError(
            f"the model's server answered {status} and refuses our key; check MODEL_URL and SERVICE_KEY",
            after=after,
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS and _code(body) == NO_CREDIT:
        return
    if status in {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }:
        raise UnavailableError(f"the model's server answered {status}", after=after)
    if response.is_server_error or status in {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_EARLY,
    }:
        raise FailedError(f"the model's server answered {status}: {_excerpt(body)}", after=after)


def _refusal(status: int, headers: httpx.Headers, body: bytes) -> Exception:
    if status == HTTPStatus.PAYMENT_REQUIRED and _document(body).get("type") != TOO_SMALL:
        after = _period(headers.get("Retry-After"))
        return WaitFor(BUDGET, f"the budget for the model is spent: {_excerpt(body)}", after=after)
    code = _code(body)
    if code == NO_CREDIT and status != HTTPStatus.PAYMENT_REQUIRED:
        return Unprocessable("the model's account has no credit left; top it up, then replay")
    if code in CONTEXT_EXCEEDED:
        return Unprocessable(
            f"the model's context is too small for the sources: {_excerpt(body)}; set MODEL_CONTEXT_TOKENS to what the"
            " model has, then replay"
        )
    return Unprocessable(
        f"the model's server answered {status}: {_excerpt(body)}; check MODEL_URL and MODEL_NAME, then replay"
    )


def _period(header: str | None) -> timedelta:
    """Until the budget's next period begins, which may be weeks away."""
    value = (header or "").strip()
    if value.isascii() and value.isdigit():
        return min(timedelta(seconds=int(value[:9])), _LONGEST_PERIOD)
    return retry_after(header, datetime.now(UTC)) or _NEXT_PERIOD


def _code(body: bytes) -> str | None:
    """What kind of error it is: `code` (a number at llama.cpp), or else `type`."""
    error = _error(body)
    code, kind = error.get("code"), error.get("type")
    known: Sequence[Any] = [each for each in (code, kind) if isinstance(each, str)]
    return next((each for each in known if each in CONTEXT_EXCEEDED | {NO_CREDIT, FILTERED}), None)


def _error(body: bytes) -> Mapping[str, Any]:
    document = _document(body)
    error = document.get("error", document)
    return error if isinstance(error, dict) else {}


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _excerpt(body: bytes) -> str:
    error = _error(body)
    said = (
        error.get("message")
        or error.get("detail")
        or error.get("title")
        or body[:MAX_DETAIL].decode(errors="replace")
    )
    return str(said)[:MAX_DETAIL]
