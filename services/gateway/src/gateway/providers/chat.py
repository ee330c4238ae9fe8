"""Models with OpenAI's chat completions, such as Ollama, vLLM and llama.cpp: `POST /chat/completions`.

A call costs its tokens, read and written; a refused one is free. An answer that was cut off, filtered or declined is
charged, and returned with that ending.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from chassis.http.client import retry_after
from gateway.credentials import ProviderAccount
from gateway.money import TokenPrice, micros
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.http_client import AccountSettings, Dollars, ProviderHttpClient, ProviderResponse

_PER_MESSAGE: Final = 32
_PER_CALL: Final = 256
"""Tokens that a chat template may add, generously."""
_DURATION: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(ms|h|m|s)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class ModelSettings(AccountSettings):
    """`url` ends before `/chat/completions`: `https://api.openai.com/v1`."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The provider's name for the model."""
    read_price: Dollars = Decimal(0)
    """For a million tokens that it reads."""
    written_price: Dollars = Decimal(0)
    """For a million tokens that it writes."""
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Default and maximum of tokens to write in one request."""
    max_tokens_field: Annotated[str, StringConstraints(pattern="^max_(completion_)?tokens$")] = "max_tokens"
    """The provider's name for that limit; OpenAI's reasoning models accept only `max_completion_tokens`."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 300
    together: Annotated[int, Field(ge=1, le=1000)] = 8
    seconds: Annotated[float, Field(ge=1, le=600)] = 120.0

    @property
    def price(self) -> TokenPrice:
        return TokenPrice(micros(self.read_price), micros(self.written_price))


class FinishReason(StrEnum):
    """Why an answer ends."""

    COMPLETE = "complete"
    LENGTH = "length"
    """Cut off at the limit of tokens."""
    CONTENT_FILTER = "content_filter"
    """The provider removed forbidden content."""
    REFUSAL = "refusal"
    """The model declined."""


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer with its cost.

    Args:
        document: the provider's JSON.
        ending: of its first choice.
        read: tokens; None if the provider does not say.
        written: likewise.
        pause: how long the provider wants no requests.
    """

    document: dict[str, Any]
    ending: FinishReason
    read: int | None
    written: int | None
    pause: timedelta | None


def most_tokens_read(messages: list[dict[str, Any]], others: Mapping[str, Any]) -> int:
    """An upper bound of the prompt's tokens: a token stands for at least one byte of UTF-8."""
    texts = sum(len(text.encode()) for text in _texts([messages, dict(others)]))
    return texts + _PER_MESSAGE * len(messages) + _PER_CALL


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for key, item in value.items() for text in (str(key), *_texts(item))]
        case list():
            return [text for item in value for text in _texts(item)]
        case _:
            return [str(value)]


class ChatClient:
    """Calls a model; raises its errors as `FailedCall`."""

    def __init__(self, http: ProviderHttpClient) -> None:
        self._http = http

    async def complete(
        self, account: ProviderAccount, settings: ModelSettings, request: Mapping[str, Any]
    ) -> Completion:
        """Sends the body `request`.

        Raises:
            FailedCall: there is no answer; `problem` says why.
        """
        response = await self._http.send(
            account.name,
            "POST",
            f"{settings.url}/chat/completions",
            seconds=settings.seconds,
            headers=account.authorization,
            body=dict(request),
        )
        if response.status != HTTPStatus.OK:
            raise FailedCall(problem(account.name, response))
        return _completion(account.name, response)


def _completion(name: str, response: ProviderResponse) -> Completion:
    document = response.document
    choices = document.get("choices") if isinstance(document, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(document, dict) or not isinstance(first, dict) or not isinstance(message, dict):
        raise FailedCall(http_client.unusable(name, "it has no message in `choices`"), spent=None)
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        document,
        _ending(first, message),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _pause(response.headers),
    )


def _ending(choice: Mapping[str, Any], message: Mapping[str, Any]) -> FinishReason:
    if message.get("refusal"):
        return FinishReason.REFUSAL
    match choice.get("finish_reason"):
        case "length":
            return FinishReason.LENGTH
        case "content_filter":
            return FinishReason.CONTENT_FILTER
        case _:
            return FinishReason.COMPLETE


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def problem(name: str, response: ProviderResponse) -> CallProblem:
    """Translates an error response: `{"error": {"message", "type", "code"}}` in the providers' dialects."""
    message, words = _told(response.document)
    after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC)) or _pause(response.headers)
    if "insufficient_quota" in words or "billing_hard_limit_reached" in words:
        return http_client.quota_exhausted(name, message)
    if "invalid_api_key" in words:
        return http_client.key_refused(name, message)
    if words & {"context_length_exceeded", "exceed_context_size_error"} or _speaks_of_context(message):
        return CallProblem(
            "model.context_too_long",
            f"the request is longer than {name} can read ({message}): send less, or connect a model that reads more",
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    if words & {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}:
        return CallProblem(
            "model.content_filtered",
            f"{name} does not allow what this request says ({message}): change it",
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    return http_client.failure(name, response, after)


def _told(document: Any) -> tuple[str, set[str]]:
    """The message, type and codes of an error; llama.cpp uses the status as its code."""
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, str):  # Ollama.
        return http_client.quoted(error), set()
    if not isinstance(error, dict):
        return "", set()
    inner = error.get("innererror")  # Azure.
    words = {error.get("type"), error.get("code"), inner.get("code") if isinstance(inner, dict) else None}
    return http_client.quoted(error.get("message")), {word for word in words if isinstance(word, str)}


def _speaks_of_context(message: str) -> bool:
    """Recognized by its text, since vLLM has no code for it."""
    return "maximum context length" in message


def _pause(headers: Mapping[str, str]) -> timedelta | None:
    """Reads `x-ratelimit-remaining-requests: 0`, `x-ratelimit-reset-requests: 6m0s`, and the same for tokens."""
    waits = [
        wait
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0"
        and (wait := _duration(headers.get(f"x-ratelimit-reset-{what}", "")))
    ]
    return max(waits, default=None)


def _duration(text: str) -> timedelta | None:
    """Parses `1s`, `6m0s`, `120ms`."""
    found = _DURATION.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text.strip():
        return None
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in found))
