"""Exceptions that a step raises to report its outcome, and those that `Receipts.perform` raises."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from messaging import RetryLater, Unprocessable

# -- what a step raises ------------------------------------------------------------------------------------------------


class NotSent(Exception):  # noqa: N818  (reads as what it says: `raise NotSent(...)`)
    """Certainly no effect, for a temporary reason: 429, or a connection that failed.

    Args:
        reason: for programs: `limit`, `unreachable`.
        detail: for people.
        retry_at: the earliest next attempt; then this attempt does not count. None: after the usual backoff, and it counts.
    """

    def __init__(self, reason: str, detail: str, retry_at: datetime | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.retry_at = retry_at


class GatewayAway(NotSent):
    """The gateway itself took nothing: an outage of ours, which counts against no message."""

    def __init__(self, detail: str, retry_at: datetime | None = None) -> None:
        super().__init__("gateway", detail, retry_at)


class UnderWay(NotSent):
    """An earlier request for the same receipt may still be sent; look again at `retry_at`."""

    def __init__(self, detail: str, retry_at: datetime | None = None) -> None:
        super().__init__("under_way", detail, retry_at)


class FencedOffError(NotSent):
    """Another worker has claimed the receipt; nothing was sent."""

    def __init__(self, detail: str, known: int | None = None) -> None:
        super().__init__("fenced", detail)
        self.known = known
        """The fence that the gateway knows, if it says."""


class OtherIdentity(NotSent):
    """The account is connected as another user than the receipt's, or its user is not known yet; nothing was sent."""

    def __init__(self, detail: str, retry_at: datetime | None = None) -> None:
        super().__init__("other_identity", detail, retry_at)


class Refused(Exception):  # noqa: N818
    """Certainly no effect, and a repetition would be refused again.

    Args:
        reason: for programs: `text_too_long`, `needs_reconnecting`.
        detail: for people, with the remedy: "the token has expired: connect again".
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class UnknownOutcome(Exception):  # noqa: N818
    """The effect may have happened: no answer, an incomplete or an ambiguous one."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class DoubtfulOutcome(Exception):  # noqa: N818
    """The effect may have happened, now or before, and no look-up can tell: a person must decide."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


# -- what `Receipts.perform` raises --------------------------------------------------------------------------------------


class NotSentYet(RetryLater):
    """No effect yet; the message is retried after the usual backoff, or dead-lettered after its last attempt."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class EffectRefused(Unprocessable):
    """The other side refuses the effect for good; the current step had no effect. Sending the message again starts another attempt.

    `remote` has the results of earlier steps; if empty, nothing has happened at all.
    """

    def __init__(self, reason: str, detail: str, remote: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.remote = remote
