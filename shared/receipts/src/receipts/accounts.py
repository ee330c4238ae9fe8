"""An account at another provider, for adapters: requests go through the gateway, which holds the credentials."""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final
from uuid import UUID

from receipts.clocks import ClockOffset
from receipts.errors import NotSent

DEFAULT_SECONDS: Final = 20.0
_LEAST_SECONDS: Final = 0.1
"""The gateway refuses a shorter limit for good."""
IDENTITY: Final = "identity"
"""The member of a request that names the user its account must be connected as."""
_READING: Final = frozenset({"GET", "HEAD"})


def _own_time() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AccountResponse:
    """The other side's response, of any status."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    json: Any = None
    """None if the body is no JSON; `text` has it then."""
    text: str = ""
    truncated: bool = False
    """Whether the body exceeded the size limit."""
    whole_items: Sequence[Any] | None = None
    """The complete items of a truncated JSON list; None if it is no list or not truncated."""
    clock: ClockOffset | None = None
    """The difference between the other side's clock and the database's; None if the response has no time."""


@dataclass(frozen=True, slots=True)
class Content:
    """A body of bytes."""

    type: str
    """Media type."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart/form-data body."""

    name: str
    data: bytes | str
    type: str = ""
    """Media type; empty: a plain field."""
    filename: str = ""


@dataclass(frozen=True, slots=True)
class Fence:
    """The receipt of a request: the gateway refuses the request if it knows a higher number for that receipt."""

    receipt_id: UUID
    step: str
    number: int
    until: float
    """By `time.monotonic`: no later request is sent."""


Ask = Callable[[str, Mapping[str, Any], float], Awaitable[AccountResponse]]
"""(account, the request as the gateway takes it, seconds) → the other side's response."""

Clock = Callable[[], datetime]
"""The time by the database's clock, as far as this process knows it."""

About = Callable[[str, str], Awaitable[Mapping[str, str]]]
"""(account, brand) → the gateway's facts about the account, without credentials."""


@dataclass(frozen=True, slots=True)
class AccountClient:
    """A client for one account, on behalf of one brand."""

    name: str
    brand: str
    ask: Ask
    fence: Fence | None = None
    about: About | None = None
    identity: str | None = None
    """The user that the account must be connected as; otherwise the gateway sends nothing. None: any user."""
    clock: Clock = _own_time

    def fenced(self, fence: Fence) -> "AccountClient":
        return replace(self, fence=fence)

    async def facts(self) -> Mapping[str, str]:
        """The provider's facts about the account, such as its `id` there; empty if unknown. Sends nothing to the provider.

        Raises:
            GatewayAway: the gateway does not answer.
        """
        return {} if self.about is None else await self.about(self.name, self.brand)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        content: Content | None = None,
        parts: Sequence[Part] | None = None,
        seconds: float = DEFAULT_SECONDS,
        sends: bool | None = None,
    ) -> AccountResponse:
        """Sends one request to the other side, without retries.

        Args:
            method: of HTTP.
            path: at the provider, without its address: `/api/v1/statuses`. The gateway has a list of allowed ones.
            query: its parameters.
            headers: in addition to the credentials.
            json: the body; or one of the following.
            form: as application/x-www-form-urlencoded.
            content: as it is.
            parts: as multipart/form-data.
            seconds: until the last byte of the response; no longer than the step has left.
            sends: whether it may have an effect; None: all methods except GET and HEAD do.

        Raises:
            NotSent: not a byte has left the gateway. `GatewayAway`: it took nothing. `UnderWay`, `FencedOffError`: another worker has the receipt.
            Refused: the brand has no such account, it must be connected again, or the gateway does not allow the request.
            OtherIdentity: the account is connected as another user than `identity`.
            UnknownOutcome: bytes were sent, and no complete response arrived.
        """
        if self.fence is not None:
            seconds = min(seconds, self.fence.until - monotonic())
            if seconds < _LEAST_SECONDS:
                raise NotSent("late", f"the time for the step {self.fence.step} was over before it was sent")
        asked: dict[str, Any] = {
            "brand": self.brand,
            "method": method,
            "path": path,
            "seconds": round(seconds, 3),
        }
        if query:
            asked["query"] = dict(query)
        if headers:
            asked["headers"] = dict(headers)
        if json is not None:
            asked["json"] = json
        if form is not None:
            asked["form"] = dict(form)
        if content is not None:
            asked["content"] = {"type": content.type, "base64": base64.b64encode(content.data).decode()}
        if parts is not None:
            asked["parts"] = [_part(each) for each in parts]
        if self.fence is not None:
            asked["effect"] = {
                "receipt_id": str(self.fence.receipt_id),
                "step": self.fence.step,
                "fence": self.fence.number,
                "sends": method.upper() not in _READING if sends is None else sends,
            }
        return await self._exchange(asked, seconds)

    async def _exchange(self, asked: dict[str, Any], seconds: float) -> AccountResponse:
        if self.identity is not None:
            asked[IDENTITY] = self.identity
        asked_at = self.clock()
        answer = await self.ask(self.name, asked, seconds)
        return replace(answer, clock=ClockOffset.measured(answer.headers, asked_at, self.clock()))


def _part(part: Part) -> dict[str, str]:
    told = {"name": part.name, "filename": part.filename, "type": part.type}
    if isinstance(part.data, str):
        told["text"] = part.data
    else:
        told["base64"] = base64.b64encode(part.data).decode()
    return {key: value for key, value in told.items() if value or key in {"text", "base64", "name"}}
