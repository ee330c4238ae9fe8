"""Models with OpenAI's chat completions, such as Ollama, vLLM and llama.cpp: `POST /chat/completions`.

A call costs its tokens, read and written; a refused one is free. An answer that was cut off, filtered or declined is
charged, and returned with that ending.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.client import ProviderClient, ProviderRequest
from gateway.providers.completion import Completion, FinishReason
from gateway.providers.http_client import ProviderResponse

_DURATION: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(ms|h|m|s)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def request(account: ProviderAccount, body: Mapping[str, Any]) -> ProviderRequest:
    return ProviderRequest("/chat/completions", headers=account.authorization, body=body)


def answer(name: str, response: ProviderResponse, _: Mapping[str, Any]) -> Completion:
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
    return http_client.failure(name, response, _pause(response.headers))


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


CLIENT: Final = ProviderClient(request, answer, problem)
