"""What a writer is: whoever turns sources into an article, or says why they give none. The workflow is handed one and knows no more of it."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.writing.article import Article, Source


class InsufficientSourcesError(Exception):
    """A normal end: no honest article comes of these sources. The message, for people, says what they lack."""


class Writer(Protocol):
    """Writes articles, several at the same time; what it needs for that (a thread, a model) is its own."""

    async def write(
        self, *, keyword: str, sources: Sequence[Source], brand_name: str, language: str
    ) -> Article:
        """The article on `keyword`, which cites its sources by their `n` and says nothing without one.

        `language` is a BCP 47 tag. Writing holds up no other message: it does not block the event loop. It may be asked
        again for an article it has written already, after a crash or by another replica; the first result stays.

        Raises:
            InsufficientSourcesError: the sources give no article.
            RetryLater: it cannot write at the moment; a later attempt may succeed.
            Unprocessable: it will never write this one, for another reason; the message says what would help.
        """
        ...
