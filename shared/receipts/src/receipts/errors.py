"""What a step raises to say what became of it, and what `Receipts.perform` raises then."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from messaging import RetryLater, Unprocessable

# -- what a step raises ------------------------------------------------------------------------------------------------


class NotSent(Exception):  # noqa: N818  (reads as what it says: `raise NotSent(...)`)
    """Certainly without effect, for a reason that passes: 429, a connection that never came about.

    Args:
        reason: for programs: `limit`, `unreachable`.
        detail: for people.
        retry_at: not earlier; then no attempt is counted. None: after the usual backoff, and the attempt counts.
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
    """Somebody else has taken the receipt up meanwhile; nothing was sent."""

    def __init__(self, detail: str, known: int | None = None) -> None:
        super().__init__("fenced", detail)
        self.known = known
        """The fence that the gateway knows, where it tells."""


class OtherIdentity(NotSent):
    """The account is connected as another user than the receipt was begun for, or nobody knows yet; nothing was sent."""

    def __init__(self, detail: str, retry_at: datetime | None = None) -> None:
        super().__init__("other_identity", detail, retry_at)


class Refused(Exception):  # noqa: N818
    """Certainly without effect, and the same again would be refused again.

    Args:
        reason: for programs: `text_too_long`, `needs_reconnecting`.
        detail: for people, with what to do: "the token has expired: connect again".
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class UnknownOutcome(Exception):  # noqa: N818
    """It may have had its effect: no answer, half of one, or one that tells neither way."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class DoubtfulOutcome(Exception):  # noqa: N818
    """It may be there, from this attempt or one before, and no look-up can tell: a person has to look."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


# -- what `Receipts.perform` raises --------------------------------------------------------------------------------------


class NotSentYet(RetryLater):
    """Nothing has happened yet; the message is tried again after the usual backoff, or dead-lettered when it was the last attempt."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class EffectRefused(Unprocessable):
    """The other side refuses it for good; nothing of this step has happened. Sent again, the message tries anew.

    `remote` is what the steps before have returned, empty if there were none: then nothing has happened at all.
    """

    def __init__(self, reason: str, detail: str, remote: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.remote = remote
