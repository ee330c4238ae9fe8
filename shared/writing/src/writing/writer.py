"""The interface of writers: they turn sources into an article, or raise with the reason why they cannot."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from writing.article import Article, ArticleSource


class NoArticleError(Exception):
    """The sources allow no honest article, and a retry would not either. The message, for people, says why."""

    reason: ClassVar[str]
    """The cause as a code for programs."""


class InsufficientSourcesError(NoArticleError):
    """The sources are insufficient; the message says what they lack."""

    reason = "insufficient_sources"


class UnsupportedDraftError(NoArticleError):
    """The sources support too little of the draft."""

    reason = "unsupported_draft"


class UnusableModelAnswerError(Exception):
    """The model refused, or gave two answers that do not fit the shape."""


class Writer(Protocol):
    """Writes articles, several at the same time; owns its thread or model client."""

    async def write(
        self, *, keyword: str, sources: Sequence[ArticleSource], brand_name: str, language: str
    ) -> Article:
        """Returns the article on `keyword`, with a citation of a source's `n` for every statement.

        `language` is a BCP 47 tag. The call does not block the event loop. After a crash, or from another replica, it may
        come again for an article that is written already; the first result stays.

        Raises:
            NoArticleError: the sources give no article, or no draft that they support.
            UnusableModelAnswerError: its model's answers give no article.
            Exception: any error of the model or the context that it was given.
        """
        ...
