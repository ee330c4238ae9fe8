"""Problems that the gateway answers with, and what the caller can do about them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Self

from starlette.requests import Request
from starlette.responses import Response

from chassis import redaction
from chassis.http.api import Responses, refusal
from chassis.http.problems import ProblemResponse

NO_KEYS: Final[Responses] = refusal(
    HTTPStatus.FAILED_DEPENDENCY,
    "Keys cannot be encrypted or decrypted; `detail` says what GATEWAY_KEYS lacks.",
)
FROM_PROVIDERS: Final[Responses] = {
    **refusal(HTTPStatus.PAYMENT_REQUIRED, "The budget does not suffice now; retry after `Retry-After`."),
    **refusal(
        HTTPStatus.FAILED_DEPENDENCY, "The provider is not connected, or it failed; `type` says which."
    ),
    **refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        "The provider's rate limit leaves no turn in time; retry after `Retry-After`.",
    ),
}
"""Responses that the API document lists for routes that call providers."""


@dataclass(frozen=True, slots=True)
class CallProblem:
    """Why there is no answer, and whether a retry can help.

    `detail` is a sentence that says what to do. If `transient` is true, the same request may succeed after `after`;
    `retry_at` is that moment if it is known, such as the beginning of the next day.
    """

    type: str
    detail: str
    status: HTTPStatus
    transient: bool = False
    after: timedelta | None = None
    retry_at: datetime | None = None

    def __post_init__(self) -> None:
        # It may quote a provider, and providers quote keys.
        object.__setattr__(self, "detail", redaction.text(self.detail))

    def as_json(self) -> dict[str, Any]:
        """The problem as JSON, for answers and the database."""
        return {
            "type": self.type,
            "detail": self.detail,
            "status": self.status.value,
            "transient": self.transient,
            "after_seconds": None if self.after is None else self.after.total_seconds(),
            "retry_at": None if self.retry_at is None else self.retry_at.isoformat(),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        seconds, moment = told["after_seconds"], told["retry_at"]
        return cls(
            type=told["type"],
            detail=told["detail"],
            status=HTTPStatus(told["status"]),
            transient=told["transient"],
            after=None if seconds is None else timedelta(seconds=seconds),
            retry_at=None if moment is None else datetime.fromisoformat(moment),
        )

    def headers(self, now: datetime) -> dict[str, str]:
        """`Retry-After` in whole seconds, rounded up."""
        after = self.after if self.retry_at is None else self.retry_at - now
        return {} if after is None else {"Retry-After": str(max(1, math.ceil(after.total_seconds())))}

    def response(self, **more: Any) -> Response:
        """The HTTP response, with additional members."""
        told = self.as_json()
        return ProblemResponse(
            self.status,
            self.detail,
            self.headers(datetime.now(UTC)),
            kind=self.type,
            transient=self.transient,
            retry_at=told["retry_at"],
            **more,
        )


class CallProblemError(Exception):
    """Carries a `CallProblem` to the error handler of the API."""

    def __init__(self, problem: CallProblem) -> None:
        super().__init__(f"{problem.type}: {problem.detail}")
        self.problem = problem


async def answer_problem(_: Request, error: Exception) -> Response:
    """Answers with problem details, `transient` and `retry_at`, and with `Retry-After` if waiting helps."""
    assert isinstance(error, CallProblemError)
    return error.problem.response()
