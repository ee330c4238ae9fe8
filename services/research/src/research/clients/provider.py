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

    async def search(self, keyword: str) -> Findings:
        """Look for sources; too few of them is an answer, not an error. May take long; opens no transaction.

        Raises:
            ProviderUnavailableError: try again later.
        """
