"""All events come to the orchestrator, those for others too."""

from collections.abc import Sequence

from envelope import DomainMessage, Payload
from messaging import Transaction


async def let_go(events: Sequence[DomainMessage[Payload]], tx: Transaction) -> None:
    """Nothing follows from them here."""
