"""A message as it is composed, once, before it is put into the form of a channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from monitor.notifications.domain import item_headline


@dataclass(frozen=True, slots=True)
class MessageItem:
    """One of the things that a message tells of."""

    headline: str
    detail: str
    command: str
    link: str | None
    severity: str
    item: Mapping[str, Any]
    """All that is known of it, for programs."""


@dataclass(frozen=True, slots=True)
class Message:
    """The same in every attempt, its id included, so that who receives it twice can tell."""

    id: UUID
    made_at: datetime
    purpose: str
    title: str
    paragraphs: Sequence[str]
    lines: Sequence[MessageItem]
    more: int
    """Things that it counts and does not tell of."""

    @classmethod
    def of(cls, message: UUID, made_at: datetime, purpose: str, content: Mapping[str, Any]) -> Self:
        lines = [
            MessageItem(
                item_headline(item), item["detail"], item["command"], item["link"], item["severity"], item
            )
            for item in content["items"]
        ]
        return cls(message, made_at, purpose, content["title"], content["paragraphs"], lines, content["more"])

    @property
    def rest(self) -> str:
        """Of what it does not tell; empty if there is nothing."""
        return f"… and {self.more} more: brandctl notifications list" if self.more else ""


def cut(text: str, characters: int) -> str:
    """No longer than so many."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
