"""Deadlines of chains: which messages end after theirs instead of another attempt."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from envelope import Catalogue, LateRule, deadline_in_words
from messaging.flow.failures import MAX_MESSAGE_CHARS, Failure
from messaging.flow.intake import IncomingMessage
from messaging.headers import Reason

DEADLINE_PASSED: Final = "DeadlinePassed"
"""The failure's exception type."""


class Deadlines:
    """Ends messages after the deadline of their chain, as their types' `LateRule` says. Most messages have no deadline."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._rules = {name: entry.late for name, entry in catalogue.items()}

    def end_late(self, messages: Sequence[IncomingMessage], now: datetime) -> None:
        """Gives those among the messages that may not begin any more their failure."""
        for incoming in messages:
            message = incoming.message
            if message is None or message.deadline is None or incoming.failure is not None:
                continue
            if message.deadline <= now and self._may_end(incoming):
                incoming.failure = _passed(message.deadline)

    def instead_of_retry(self, incoming: IncomingMessage, next_attempt: datetime) -> Failure | None:
        """The failure of a message whose next attempt would begin after its deadline; None if it may have that attempt."""
        message, failure = incoming.message, incoming.failure
        if message is None or message.deadline is None or failure is None or next_attempt < message.deadline:
            return None
        if self._rules.get(incoming.type) is not LateRule.ENDS:
            return None
        return _passed(
            message.deadline, f"its last attempt failed with {failure.exception_type}: {failure.message}"
        )

    def _may_end(self, incoming: IncomingMessage) -> bool:
        match self._rules.get(incoming.type):
            case LateRule.ENDS:
                return True
            case LateRule.ENDS_UNBEGUN:
                return not _may_have_begun(incoming)
            case _:
                return False


def _may_have_begun(incoming: IncomingMessage) -> bool:
    delivery = incoming.delivery
    return (
        incoming.attempt > 1 or incoming.waits > 0 or incoming.replay_of is not None or delivery.redelivered
    )


def _passed(deadline: datetime, also: str = "") -> Failure:
    detail = f"the deadline of {deadline_in_words(deadline)} has passed; replay it with a later one if it should still be done"
    return Failure(
        Reason.DEADLINE_PASSED, DEADLINE_PASSED, "; ".join(filter(None, (detail, also)))[:MAX_MESSAGE_CHARS]
    )
