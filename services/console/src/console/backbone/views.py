"""What the page of queues, outboxes and services shows. Pure: no I/O."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

LATE: Final = timedelta(seconds=60)
"""Older due messages of an outbox are remarkable: most leave within a second."""


_SHORT: Final = 10
"""Below it, a rate has a decimal."""


def is_late(part: Mapping[str, Any]) -> bool:
    """Whether the oldest due message of the service's outbox has waited for long."""
    oldest = part["outbox"]["oldest_due_at"]
    return oldest is not None and datetime.fromisoformat(part["now"]) - datetime.fromisoformat(oldest) > LATE


def rate(per_minute: float | None, language: str) -> str:
    """Writes messages in a minute; a dash if they are unknown."""
    if per_minute is None:
        return "\N{EN DASH}"
    is_short = per_minute < _SHORT and per_minute != int(per_minute)
    written = f"{per_minute:.1f}" if is_short else f"{per_minute:,.0f}"
    return written.translate(str.maketrans(",.", ".,")) if language == "de" else written


def word_of_change(verb: str, answer: Mapping[str, Any]) -> str:
    """Names the text that says what became of a press of `pause` or `resume`."""
    if answer["is_changed"]:
        return {"pause": "paused_now", "resume": "resumed_now"}[verb]
    # Another person was faster.
    return "is_paused" if answer["pause"] else "is_not_paused"
