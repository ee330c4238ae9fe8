"""What the gateway refuses or could not do, in words that a caller can act on."""

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
    HTTPStatus.FAILED_DEPENDENCY, "Keys cannot be kept or opened; `detail` says what GATEWAY_KEYS lacks."
)
FROM_PROVIDERS: Final[Responses] = {
    **refusal(HTTPStatus.PAYMENT_REQUIRED, "There is no money for it now; again after `Retry-After`."),
    **refusal(
        HTTPStatus.FAILED_DEPENDENCY, "No such provider is connected, or it failed; `type` says which it is."
    ),
    **refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Its turn at the provider does not come in time; again after `Retry-After`.",
    ),
}
"""How the document speaks of what a route may refuse that asks a provider."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer, and whether there may be one later.

    `detail` is a sentence that says what to do. Where `transient` is true, the same request may succeed after `after`;
    `retry_at` is that moment where it is known to the clock, such as the next day's beginning.
    """

    type: str
    detail: str
    status: HTTPStatus
    transient: bool = False
    after: timedelta | None = None
    retry_at: datetime | None = None

    def __post_init__(self) -> None:
        # It may quote a provider, and providers quote the keys that they were given.
        object.__setattr__(self, "detail", redaction.text(self.detail))

    def as_json(self) -> dict[str, Any]:
        """As it is answered and kept."""
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
        """`Retry-After` in whole seconds, never too few of them."""
        after = self.after if self.retry_at is None else self.retry_at - now
        return {} if after is None else {"Retry-After": str(max(1, math.ceil(after.total_seconds())))}

    def response(self, **more: Any) -> Response:
        """As it is answered, with further members."""
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


class ProblemError(Exception):
    """Carries a `Problem` to whoever answers the request."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.type}: {problem.detail}")
        self.problem = problem


async def answer_problem(_: Request, error: Exception) -> Response:
    """Problem details with `transient` and `retry_at`, its status and, where waiting helps, `Retry-After`."""
    assert isinstance(error, ProblemError)
    return error.problem.response()
