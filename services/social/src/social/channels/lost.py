"""What is the same wherever a lost post is looked for among those of its account."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from unicodedata import normalize

CLOCKS: Final = timedelta(minutes=5)
"""By which a platform's clock and ours may differ."""


def since(prepared: Mapping[str, Any]) -> datetime:
    """The moment before which no post can be ours: that of the first attempt, or now, should clocks have been set back."""
    begun = datetime.fromisoformat(prepared["since"]).astimezone(UTC)
    return min(begun, datetime.now(UTC)) - CLOCKS


def comparable(text: str) -> str:
    """Platforms change white space and compose characters."""
    return " ".join(normalize("NFC", text).split())
