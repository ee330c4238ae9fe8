"""Decides what an error answer of a model's server means for the command: wait, retry or fail for good.

The gateway names its problems (`type`, RFC 9457); most concern one brand or one call. Other servers send only a status,
which applies to all calls.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from chassis.http.client import UnavailableError, retry_after
from messaging import CostReached, RetryLater, Unprocessable, WaitFor
from writing.model.chat import FILTERED

BUDGET: Final = "the model's budget"
LIMITS: Final = "the model's limits"
PROVIDER: Final = "the model's provider"
THE_SAME_CALL: Final = "the same call to the model"
_WAITS: Final[Mapping[str, str]] = {
    "budget.exhausted": BUDGET,
    "budget.set_aside": BUDGET,
    "spending.stopped": BUDGET,
    "limit.reached": LIMITS,
    "provider.limited": LIMITS,
    "provider.away": PROVIDER,
    "call.under_way": THE_SAME_CALL,
}
"""Problems of the gateway for which only this command waits, and the cause it waits for."""
_BREAKER_OPEN: Final = "provider.failing"
"""The provider fails for all calls, and the gateway calls it no more for now."""
_NO_CREDIT: Final = "insufficient_quota"
_CONTEXT_EXCEEDED: Final = frozenset({"exceed_context_size_error", "context_length_exceeded"})
_COST_REACHED: Final = "cost.reached"
_CONTEXT_TOO_LONG: Final = "model.context_too_long"
_FILTERED_PROBLEM: Final = "model.content_filtered"
_LONGEST_WAIT: Final = timedelta(minutes=10)
_LONGEST_WAIT_FOR_MONEY: Final = timedelta(seconds=45)
"""An operator may raise the cap long before the budget's period ends. Articles go on within a minute of that."""
_MAX_DETAIL: Final = 300
_OUT_OF_SERVICE: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})
_SERVER_ERRORS: Final = 500


def refusal(status: int, retry_after_header: str | None, body: bytes) -> Exception:
    """Returns the exception to raise for an answer that is no completion.

    Returns:
        UnavailableError: the server is out of service for all calls.
        WaitFor: this command waits, and no attempt is counted.
        RetryLater: this attempt failed.
        CostReached: the call may cost more than its chain has left.
        Unprocessable: no attempt would succeed; the message says what to do.
    """
    document = _document(body)
    problem = document.get("type")
    if isinstance(problem, str) and isinstance(document.get("transient"), bool):
        return _problem(problem, document, retry_after_header)
    return _status(status, document, body, retry_after_header)


def is_filtered(body: bytes) -> bool:
    """Whether the provider's content filter removed the answer, which counts as a refusal and not as a failure."""
    document = _document(body)
    return document.get("type") == _FILTERED_PROBLEM or FILTERED in _codes(document)


def _problem(problem: str, document: Mapping[str, Any], header: str | None) -> Exception:
    """Returns the exception for a problem that the gateway names."""
    detail = str(document.get("detail") or problem)[: 2 * _MAX_DETAIL]
    after = retry_after(header, datetime.now(UTC))
    if (waits_for := _WAITS.get(problem)) is not None:
        longest = _LONGEST_WAIT_FOR_MONEY if waits_for == BUDGET else _LONGEST_WAIT
        return WaitFor(waits_for, detail, after=min(after or longest, longest))
    if problem == _BREAKER_OPEN:
        return UnavailableError(detail, after=after)
    if document["transient"]:
        return RetryLater(f"{problem}: {detail}", after=after)
    if problem == _COST_REACHED:
        return CostReached(detail)
    if problem == _CONTEXT_TOO_LONG:
        return _context_too_small(detail)
    return Unprocessable(f"the gateway rejects the call to the model: {detail} ({problem}); then replay")


def _status(  # noqa: PLR0911  (one for each thing that a status may mean)
    status: int, document: Mapping[str, Any], body: bytes, header: str | None
) -> Exception:
    said = _said(document, body)
    codes = _codes(document)
    after = retry_after(header, datetime.now(UTC))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return UnavailableError(
            f"the model's server answered {status} and refuses our key; check MODEL_URL and SERVICE_KEY",
            after=after,
        )
    if status == HTTPStatus.PAYMENT_REQUIRED:
        return WaitFor(
            BUDGET,
            f"the budget for the model is spent: {said}",
            after=min(after or _LONGEST_WAIT_FOR_MONEY, _LONGEST_WAIT_FOR_MONEY),
        )
    if _NO_CREDIT in codes:
        return Unprocessable("the model's account has no credit left; top it up, then replay")
    if status in _OUT_OF_SERVICE:
        return UnavailableError(f"the model's server answered {status}", after=after)
    if status >= _SERVER_ERRORS or status in _PASSING:
        return RetryLater(f"the model's server answered {status}: {said}", after=after)
    if codes & _CONTEXT_EXCEEDED:
        return _context_too_small(said)
    return Unprocessable(
        f"the model's server answered {status}: {said}; check MODEL_URL and MODEL_NAME, then replay"
    )


def _context_too_small(said: str) -> Unprocessable:
    return Unprocessable(
        f"the model's context is too small for the sources: {said}; set MODEL_CONTEXT_TOKENS to what the model has,"
        " then replay"
    )


def excerpt(body: bytes) -> str:
    """Returns the server's message, for people."""
    return _said(_document(body), body)


def _said(document: Mapping[str, Any], body: bytes) -> str:
    error = _error(document)
    words: Sequence[Any] = [error.get(name) for name in ("message", "detail", "title")]
    said = next((each for each in words if each), None) or body[:_MAX_DETAIL].decode(errors="replace")
    return str(said)[:_MAX_DETAIL]


def _codes(document: Mapping[str, Any]) -> set[str]:
    """Returns the error's `code` (a number at llama.cpp) and `type`."""
    error = _error(document)
    return {each for each in (error.get("code"), error.get("type")) if isinstance(each, str)}


def _error(document: Mapping[str, Any]) -> Mapping[str, Any]:
    error = document.get("error", document)
    return error if isinstance(error, dict) else {}


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
