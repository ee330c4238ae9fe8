"""An account at another provider, as an adapter has it: it is asked through the gateway, which holds the credentials."""

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
"""The gateway takes no request for less, and would refuse it for good."""
IDENTITY: Final = "identity"
"""Where a request says as whom its account has to be connected."""
_READING: Final = frozenset({"GET", "HEAD"})


def _own_time() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AccountResponse:
    """What the other side answered, whatever its status."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    json: Any = None
    """None: the body is no JSON; then it is in `text`."""
    text: str = ""
    truncated: bool = False
    """The body was longer than is read."""
    whole_items: Sequence[Any] | None = None
    """Of a list in JSON that was cut off, the items that are whole; None: nothing was cut off, or it is no list."""
    clock: ClockOffset | None = None
    """How far the other side's clock is ahead of the database's; None: it does not say what time it is."""


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
    """Whose request it is: the gateway refuses it if it knows a higher number for the same receipt."""

    receipt_id: UUID
    step: str
    number: int
    until: float
    """By `time.monotonic`: nothing is sent later."""


Ask = Callable[[str, Mapping[str, Any], float], Awaitable[AccountResponse]]
"""(account, the request as the gateway takes it, seconds) → the other side's answer."""

Clock = Callable[[], datetime]
"""The time by the database's clock, as far as this process knows it."""

About = Callable[[str, str], Awaitable[Mapping[str, str]]]
"""(account, brand) → what the gateway knows of it, besides its credentials."""


@dataclass(frozen=True, slots=True)
class AccountClient:
    """One account, for one brand."""

    name: str
    brand: str
    ask: Ask
    fence: Fence | None = None
    about: About | None = None
    identity: str | None = None
    """As whom the account has to be connected; the gateway sends nothing if it is connected as somebody else. None: as anybody."""
    clock: Clock = _own_time

    def fenced(self, fence: Fence) -> "AccountClient":
        return replace(self, fence=fence)

    async def facts(self) -> Mapping[str, str]:
        """What the provider says of the account, such as its `id` there; empty if nobody knows. Sends nothing there.

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
        """Asks the other side, once; nothing is tried again on the way.

        Args:
            method: of HTTP.
            path: at the provider, without its address: `/api/v1/statuses`. The gateway knows which are allowed.
            query: its parameters.
            headers: besides those with the credentials.
            json: the body; or one of the following.
            form: as application/x-www-form-urlencoded.
            content: as it is.
            parts: as multipart/form-data.
            seconds: from the gateway's taking it to the last byte of the answer; no longer than the step has left.
            sends: whether it may have an effect; None: all but GET and HEAD do.

        Raises:
            NotSent: not a byte has left the gateway. `GatewayAway`: it took nothing. `UnderWay`, `Fenced`: another is at it.
            Refused: no such account for this brand, it needs to be connected again, or the gateway does not let this through.
            OtherIdentity: the account is connected as another user than `identity` says.
            UnknownOutcome: bytes were sent, and no whole answer came back.
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
