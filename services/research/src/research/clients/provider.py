"""What a research provider is."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from research.domain import Findings
from research.sources.domain import Sources


class ProviderUnavailableError(Exception):
    """The provider cannot answer now but may later; the message says why."""


class NotReadyError(Exception):
    """There are answers for others, but not for this brand yet; the message says what it waits for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for, on whose behalf, and where."""

    keyword: str
    brand: str
    """Its slug."""
    sources: Sources
    """Those of the brand."""
    command: UUID
    """The same for every delivery of one request, so that what costs money is paid for once."""
    patient: bool = False
    """Whether it may be asked to come again for what is missing now, instead of being refused."""
    alone: bool = False
    """Whether it is not to wait for others: all of them wait for it."""


class Provider(Protocol):
    """Finds sources on a keyword."""

    def name(self, sources: Sources) -> str:
        """Recorded with each research, so that a reader knows where its sources come from."""

    async def search(self, wanted: Wanted) -> Findings:
        """Look for sources among those that the brand may use.

        Too few of them is an answer, not an error. May take long; opens no transaction.

        Raises:
            WaitFor, RetryLater, Unprocessable: there is no answer now, as `messaging` has it.
        """
