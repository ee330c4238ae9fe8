"""Contents of the pages about what was sent to other servers. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.list_filters import safe_link

STATES: Final = ("ready", "armed", "unknown", "in_doubt", "refused", "confirmed")
TONES: Final = {"in_doubt": "bad", "refused": "bad", "unknown": "warn", "confirmed": "good"}
SERVICES: Final = ("social", "publisher")
"""Those with receipts: posts, and articles at other places."""
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """Something that was sent to another server."""

    path: str
    """The page of the console about it."""
    subject: str
    account: str
    state: str
    tone: str
    detail: str
    changed_at: str
    url: str | None
    """Where it is there."""


def receipt_line(brand: str, service: str, receipt: Mapping[str, Any]) -> ReceiptLine:
    # The receipt of a post has the post's id.
    place = "posts" if service == "social" else "receipts"
    return ReceiptLine(
        path=f"/b/{brand}/{place}/{receipt['receipt_id']}",
        subject=receipt["subject"],
        account=receipt["account"],
        state=receipt["state"],
        tone=TONES.get(receipt["state"], "plain"),
        detail=receipt["detail"],
        changed_at=receipt["changed_at"],
        url=safe_link(receipt["remote"].get("url")),
    )


def state_of(query: Mapping[str, str]) -> str:
    """The state that is wanted; empty: all but those that arrived."""
    state = query.get("state", "")
    return state if state in STATES else ""


def after_of(query: Mapping[str, str], service: str) -> int | None:
    """The place in the list of a service from which on it is shown."""
    told = query.get(f"after_{service}", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS else None
