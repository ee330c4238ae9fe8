"""Decides from an HTTP response whether a request had its effect, for adapters without rules of their own."""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from chassis.http.client import retry_after
from receipts.accounts import AccountResponse
from receipts.errors import NotSent, Refused, UnknownOutcome

CREATED: Final = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_MAX_QUOTED: Final = 300
_UNSAID: Final = timedelta(minutes=1)
"""The wait after a 429 without `Retry-After`."""

Errors = Mapping[int, str | Callable[[AccountResponse], Exception]]
"""Status → its meaning in plain words, for a refusal; or a function that builds the exception."""


def expect(
    answer: AccountResponse, ok: Collection[int] = CREATED, errors: Errors | None = None
) -> AccountResponse:
    """The response, if its status is one of `ok`.

    Raises:
        NotSent: 429, with the time of the next attempt (`Retry-After`, or a minute); 408 and 425.
        Refused: any other 4xx and 3xx; `needs_reconnecting` for 401 and 403, else `refused`.
        UnknownOutcome: 5xx, 302 and 303, or an unforeseen status.
        Exception: the one that `errors` has for the status; it has priority.
    """
    status = answer.status
    if status in ok:
        return answer
    told = (errors or {}).get(status)
    if callable(told):
        raise told(answer)
    said = quote_answer(answer)
    match status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            now = datetime.now(UTC)
            after = retry_after(answer.headers.get("retry-after"), now) or _UNSAID
            raise NotSent("limit", told or f"it has been asked too often{said}", now + after)
        case HTTPStatus.REQUEST_TIMEOUT | HTTPStatus.TOO_EARLY:
            raise NotSent("busy", told or f"it answered {status}{said}")
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            raise Refused(
                "needs_reconnecting",
                told or f"it does not let this account do that ({status}){said}; connect the account again",
            )
        case HTTPStatus.FOUND | HTTPStatus.SEE_OTHER:
            # Many servers answer so once they have done what was asked.
            raise UnknownOutcome(
                told or f"it answered {status}, which leads elsewhere and does not say what was done"
            )
        case _ if 300 <= status < 500:  # noqa: PLR2004  (others lead to where the same is to be asked: nothing was done)
            raise Refused("refused", told or f"it answered {status}{said}")
        case _:
            raise UnknownOutcome(told or f"it answered {status}{said}")


def refuse_by_status(
    title: str, reasons: Mapping[int, str]
) -> dict[int, Callable[[AccountResponse], Exception]]:
    """For `expect`: refusals such as `X answered 401: “…”`, with the reason of each status."""

    def refusing(reason: str) -> Callable[[AccountResponse], Exception]:
        return lambda answer: Refused(reason, f"{title} answered {answer.status}{quote_answer(answer)}")

    return {status: refusing(reason) for status, reason in reasons.items()}


def refuse_by_words(detail: str, reasons: Mapping[str, str]) -> Callable[[AccountResponse], Refused]:
    """For `expect`: a refusal with the reason of the first of these words that the answer has, else `refused`."""

    def refuse(answer: AccountResponse) -> Refused:
        said = quote_answer(answer)
        found = (reason for words, reason in reasons.items() if words in answer.text or words in said)
        return Refused(next(found, "refused"), f"{detail}{said}")

    return refuse


def member(answer: AccountResponse, name: str) -> Any:
    """A member of the JSON in the answer. Raises UnknownOutcome if it is missing."""
    if not isinstance(answer.json, Mapping) or name not in answer.json:
        raise UnknownOutcome(f"the answer has no {name}")
    return answer.json[name]


def quote_answer(answer: AccountResponse) -> str:
    """The other side's message, for the end of a sentence: `: "text is too long"`, or empty."""
    said = _message(answer.json) or ("" if "<" in answer.text[:100] else answer.text)
    said = " ".join(said.split())
    return f": “{said[:_MAX_QUOTED]}”" if said else ""


def _message(document: Any, depth: int = 3) -> str:
    """The text of the members in which APIs put messages."""
    if isinstance(document, str):
        return document
    if isinstance(document, list):
        return _message(document[0], depth - 1) if document and depth else ""
    if isinstance(document, dict) and depth:
        for name in (
            "error_description",
            "detail",
            "message",
            "description",
            "error",
            "errors",
            "context",
            "title",
        ):
            if said := _message(document.get(name), depth - 1):
                return said
    return ""
