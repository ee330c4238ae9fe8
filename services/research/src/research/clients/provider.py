"""The interface of research providers."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from reading.ranking.sources import Findings, ResearchResult
from research.sources.domain import SourceSettings


class ProviderUnavailableError(Exception):
    """The provider cannot answer now, but may later; the message has the reason."""


class UploadsUnreadError(Exception):
    """This brand has unread uploads, which the answer needs; other brands are not affected."""


@dataclass(frozen=True, slots=True)
class ResearchQuery:
    """A request for sources: the keyword, the brand, and the places to search."""

    keyword: str
    brand: str
    """Slug of the brand."""
    sources: SourceSettings
    """The brand's settings."""
    command: UUID
    """Id of the command, equal for all its deliveries: paid calls are charged once under it."""
    patient: bool = False
    """Whether the provider may ask for a retry, instead of a refusal, when pages are missing for the moment."""
    alone: bool = False
    """Whether this command skips the brand's queue, because all others wait for it."""
    questions: tuple[str, ...] = ()
    """What an article on the keyword leaves open, to be searched for in its stead."""


class ResearchProvider(Protocol):
    """Finds sources on a keyword."""

    def name(self, sources: SourceSettings) -> str:
        """Return the provider's name for these settings; each research records it."""

    async def search(self, query: ResearchQuery) -> Findings:
        """Find sources in the places that the brand allows.

        Too few sources are an answer, not an error. May take minutes; opens no transaction.

        Raises:
            WaitFor, RetryLater, Unprocessable: see `messaging`; there is no answer now.
        """

    async def search_questions(self, query: ResearchQuery) -> ResearchResult:
        """Find sources on the query's questions. Without money or a provider, the places that need none are searched.

        Nothing found is an answer: the article does without.

        Raises:
            WaitFor: the brand has to wait for its turn, or its documents are still being read.
        """
