"""A handler for events that concern only other services."""

from collections.abc import Sequence

from envelope import DomainMessage, Payload
from messaging import Transaction


async def ignore_events(events: Sequence[DomainMessage[Payload]], tx: Transaction) -> None:
    """Does nothing with the events."""
