"""What a writer is: whoever turns sources into an article, or says why they give none. The workflow is handed one and knows no more of it."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from orchestrator.writing.article import Article, Source


class NoArticleError(Exception):
    """A normal end: there is no honest article, and trying again would give none. The message, for people, says why."""

    reason: ClassVar[str]
    """The same as a code for programs."""


class InsufficientSourcesError(NoArticleError):
    """The sources give none; the message says what they lack."""

    reason = "insufficient_sources"


class UnsupportedDraftError(NoArticleError):
    """Of what was drafted, the sources support too little to speak of."""

    reason = "unsupported_draft"


class Writer(Protocol):
    """Writes articles, several at the same time; what it needs for that (a thread, a model) is its own."""

    async def write(
        self, *, keyword: str, sources: Sequence[Source], brand_name: str, language: str
    ) -> Article:
        """The article on `keyword`, which cites its sources by their `n` and says nothing without one.

        `language` is a BCP 47 tag. Writing holds up no other message: it does not block the event loop. It may be asked
        again for an article it has written already, after a crash or by another replica; the first result stays.

        Raises:
            NoArticleError: the sources give no article, or no draft that they support.
            RetryLater: it cannot write at the moment; a later attempt may succeed.
            Unprocessable: it will never write this one, for another reason; the message says what would help.
        """
        ...
