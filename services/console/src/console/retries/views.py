"""What the page of retries shows, made from the services' answers. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self
from urllib.parse import urlencode

from client.message_chains import PLACE
from client.message_services import MESSAGE_SERVICES
from console.list_filters import read_fields

SHORT_PAGE: Final = 10
"""Messages of each service, where all services share the page."""
PAGE_SIZE: Final = 50


@dataclass(frozen=True, slots=True)
class RetryFilter:
    """The filter of the page, read from the address; empty fields match all messages."""

    service: str = ""
    type: str = ""
    chain: str = ""
    """A correlation id."""
    after: str = ""
    """The cursor of a page of one service."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        text = read_fields(query, cls.__slots__, choices={"service": MESSAGE_SERVICES})
        if not text["service"] or not PLACE.fullmatch(text["after"]):
            text["after"] = ""
        return cls(**text)

    @property
    def is_set(self) -> bool:
        return bool(self.service or self.type or self.chain)

    @property
    def may_act_on_all(self) -> bool:
        """Whether a button may mean all that match: those of one service, of a type or a chain."""
        return bool(self.service and (self.type or self.chain))

    @property
    def services(self) -> tuple[str, ...]:
        return (self.service,) if self.service else MESSAGE_SERVICES

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of each service's list."""
        return {
            "type": self.type or None,
            "correlation_id": self.chain or None,
            "after": self.after or None,
            "limit": PAGE_SIZE if self.service else SHORT_PAGE,
        }

    def query(self, *, after: object = None, **changed: str) -> str:
        """The query of a link to the first page, or to the one after a cursor, with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changed
        fields |= {"after": "" if after is None else str(after)}
        return f"?{urlencode({name: value for name, value in fields.items() if value})}"


def is_overdue(retry: Mapping[str, Any], now: str) -> bool:
    """Whether the message could have left already, and waits for the broker."""
    return datetime.fromisoformat(retry["due_at"]) <= datetime.fromisoformat(now)
