"""How much of its quota a key has left, as answers tell it.

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
class Standing:
    """Where a key stands with the request in hand."""

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


Quotas: TypeAlias = Callable[[Caller], Awaitable[Standing | None]]
"""Counts a request of the caller; None: he may ask as often as he likes."""


def telling(standing: Standing, send: Send) -> Send:
    """`send` that has every answer tell where the key stands."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(standing.headers())
        await send(message)

    return sending


def refusal_of(standing: Standing) -> ProblemResponse:
    return ProblemResponse.coded(
        QUOTA_EXCEEDED,
        f"your key may ask {standing.quota:,} times a minute, and has; ask again in {standing.resets_in} seconds, or have its"
        " limit raised with `brandctl keys limit`",
        {"Retry-After": str(standing.resets_in)},
        title="Request cannot be satisfied as assigned quota has been exceeded",
        **{"violated-policies": [POLICY]},
    )
