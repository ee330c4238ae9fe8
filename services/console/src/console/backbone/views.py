"""What the page of queues, outboxes and services shows. Pure: no I/O."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

LATE: Final = timedelta(seconds=60)
"""Older due messages of an outbox are remarkable: most leave within a second."""


def is_late(part: Mapping[str, Any]) -> bool:
    """Whether the oldest due message of the service's outbox has waited for long."""
    oldest = part["outbox"]["oldest_due_at"]
    return oldest is not None and datetime.fromisoformat(part["now"]) - datetime.fromisoformat(oldest) > LATE


def word_of_change(verb: str, answer: Mapping[str, Any]) -> str:
    """Names the text that says what became of a press of `pause` or `resume`."""
    if answer["is_changed"]:
        return {"pause": "paused_now", "resume": "resumed_now"}[verb]
    # Another person was faster.
    return "is_paused" if answer["pause"] else "is_not_paused"
