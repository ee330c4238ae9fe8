"""What the page of messages shows, made from the services' answers. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self
from urllib.parse import urlencode
from uuid import UUID

from client.message_chains import PLACE
from client.message_services import MESSAGE_SERVICES
from console.list_filters import midnight_of, read_day, read_fields

STATES: Final = ("handled", "dead_lettered", "waiting", "unsent")
SHORT_PAGE: Final = 10
"""Messages of each service, where all services share the page."""
PAGE_SIZE: Final = 50


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The filter of the page, read from the address; empty fields match all messages."""

    service: str = ""
    type: str = ""
    state: str = ""
    since: str = ""
    """The first day, such as 2026-11-28, in the reader's zone."""
    until: str = ""
    """The last day."""
    id: str = ""
    """Of one message."""
    chain: str = ""
    """A correlation id."""
    after: str = ""
    """The cursor of a page of one service."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        choices = {"service": MESSAGE_SERVICES, "state": STATES}
        text = read_fields(query, cls.__slots__, choices=choices, days=("since", "until"))
        if not text["service"] or not PLACE.fullmatch(text["after"]):
            text["after"] = ""
        return cls(**text)

    @property
    def is_set(self) -> bool:
        return bool(self.service or self.is_narrow)

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out messages of a service."""
        return bool(self.type or self.state or self.since or self.until or self.id or self.chain)

    @property
    def is_no_id(self) -> bool:
        """Whether the text of `id` cannot be that of a message."""
        return bool(self.id) and _id_of(self.id) is None

    @property
    def services(self) -> tuple[str, ...]:
        return (self.service,) if self.service else MESSAGE_SERVICES

    def arguments(self, zone: str) -> dict[str, Any]:
        """Returns the arguments of each service's list."""
        first, last = read_day(self.since), read_day(self.until)
        return {
            "type": self.type or None,
            "state": self.state or None,
            "since": None if first is None else midnight_of(first, zone),
            "until": None if last is None else midnight_of(last + timedelta(days=1), zone),
            "message_id": _id_of(self.id),
            "correlation_id": self.chain or None,
            "after": self.after or None,
            "limit": PAGE_SIZE if self.service else SHORT_PAGE,
        }

    def query(self, *, after: object = None, **changed: str) -> str:
        """The query of a link to the first page, or to the one after a cursor, with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changed
        fields |= {"after": "" if after is None else str(after)}
        return f"?{urlencode({name: value for name, value in fields.items() if value})}"


def _id_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def is_overdue(message: Mapping[str, Any], now: str) -> bool:
    """Whether the message could have left already, and waits for the broker."""
    return datetime.fromisoformat(message["due_at"]) <= datetime.fromisoformat(now)
