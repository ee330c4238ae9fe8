"""What a research provider is."""

from typing import Protocol

from research.domain import Findings


class ProviderUnavailableError(Exception):
    """The provider cannot answer now but may later; the message says why."""


class Provider(Protocol):
    """Finds sources on a keyword."""

    @property
    def name(self) -> str:
        """Recorded with each research, so that a reader knows where its sources come from."""

    async def search(self, keyword: str, *, brand: str) -> Findings:
        """Look for sources among those that the brand may use; `brand` is its slug.

        Too few of them is an answer, not an error. May take long; opens no transaction.

        Raises:
            ProviderUnavailableError: try again later.
        """
