"""The quota of a key, and its headers on answers.

`RateLimit` and `RateLimit-Policy` are those of the IETF's draft-ietf-httpapi-ratelimit-headers-10.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from chassis.http.callers import Caller
from chassis.http.problem_codes import QUOTA_EXCEEDED
from chassis.http.problems import ProblemResponse

POLICY: Final = "requests"
"""The name of the one policy that there is."""
WINDOW_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The state of a key's quota at the current request."""

    quota: int
    """Requests in a minute."""
    remaining: int
    resets_in: int
    """Seconds until all of it is there again."""
    is_exceeded: bool = False
    """This request is one too many."""

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{POLICY}";q={self.quota};w={WINDOW_SECONDS}',
            "RateLimit": f'"{POLICY}";r={self.remaining};t={self.resets_in}',
        }


Quotas: TypeAlias = Callable[[Caller], Awaitable[QuotaState | None]]
"""Counts a request of the caller; returns the state of the quota, None without a limit."""


def with_quota_headers(state: QuotaState, send: Send) -> Send:
    """Return a `send` that adds the quota headers to the answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(state.headers())
        await send(message)

    return sending


def quota_refusal(state: QuotaState) -> ProblemResponse:
    return ProblemResponse.coded(
        QUOTA_EXCEEDED,
        f"your key may ask {state.quota:,} times a minute, and has; ask again in {state.resets_in} seconds, or have its"
        " limit raised with `brandctl keys limit`",
        {"Retry-After": str(state.resets_in)},
        title="Request cannot be satisfied as assigned quota has been exceeded",
        **{"violated-policies": [POLICY]},
    )
