"""What the gateway is asked to send, and who takes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from monitor.notifications.message import Message


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to the account's provider; the gateway puts the credentials on it."""

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
        kind: of the account.
        form: the message as it is sent, to the route's addresses.
        address: what a route has to name, in words; empty: the account alone says where it goes.
        most_addresses: of one route.
        refused: what an answer of 2xx says against having been taken, if anything.
    """

    kind: str
    form: Form
    address: str = ""
    most_addresses: int = 0
    refused: Callable[[Any], str | None] = _nothing
