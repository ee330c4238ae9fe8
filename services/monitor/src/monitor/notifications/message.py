"""A composed message, before a channel formats it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from monitor.notifications.domain import item_headline


@dataclass(frozen=True, slots=True)
class MessageItem:
    """An item of a message."""

    headline: str
    detail: str
    command: str
    link: str | None
    severity: str
    item: Mapping[str, Any]
    """All fields, for programs."""

    def parts(
        self, *, detail: Callable[[str], str], command: Callable[[str], str], link: Callable[[str], str]
    ) -> list[str]:
        """The texts below the headline as a channel writes them; empty ones are left out."""
        texts = ((self.detail, detail), (self.command, command), (self.link, link))
        return [write(text) for text, write in texts if text]


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send. Id and content are the same in every attempt, so that receivers can drop duplicates."""

    id: UUID
    made_at: datetime
    purpose: str
    title: str
    paragraphs: Sequence[str]
    lines: Sequence[MessageItem]
    more: int
    """Number of items that the message counts but does not show."""

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
        """A line about the items that the message does not show; empty if there are none."""
        return f"… and {self.more} more: brandctl notifications list" if self.more else ""


def cut(text: str, characters: int) -> str:
    """The text, cut to at most so many characters."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
