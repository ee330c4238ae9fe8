"""Requests that the gateway sends for a message, and the channels that make them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from monitor.notifications.message import Message


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to the account's provider; the gateway adds the credentials."""

    path: str
    json: Mapping[str, Any]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mail:
    to: Sequence[str]
    subject: str
    text: str
    html: str
    message_id: str


Form: TypeAlias = Callable[[Message, Sequence[str]], ProviderRequest | Mail]


def _nothing(_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class NotificationChannel:
    """A kind of account that can take notifications.

    Args:
        form: makes the request for a message and the route's addresses.
        address: description of the address that a route needs; empty: the account determines it.
        most_addresses: most addresses of one route.
        refused: the reason if an answer of 2xx still means a refusal; else None.
    """

    form: Form
    address: str = ""
    most_addresses: int = 0
    refused: Callable[[Any], str | None] = _nothing
