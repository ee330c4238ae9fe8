"""Runs the composer as a `Writer`, in a thread."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from writing.article import Article, ArticleSource
from writing.computing import ComputeThread
from writing.extractive.composer import compose


class ExtractiveWriter:
    """Composes in a thread, because long sources take a while during which the process serves other messages."""

    def __init__(self, min_sources: int, computing: ComputeThread | None = None) -> None:
        """`min_sources` is the least number of independent sources of an article; fewer are refused."""
        self._min_sources = min_sources
        self._computing = computing or ComputeThread()

    async def write(
        self,
        *,
        keyword: str,
        sources: Sequence[ArticleSource],
        brand_name: str,  # noqa: ARG002 - it quotes, and says nothing of the brand
        language: str,
    ) -> Article:
        """Writes the article; see `Writer.write`.

        Raises:
            InsufficientSourcesError: too little of the sources makes sense on its own, or none says what the keyword is.
        """
        today = datetime.now(UTC).date()
        work = partial(
            compose,
            keyword=keyword,
            sources=sources,
            language=language,
            today=today,
            min_sources=self._min_sources,
        )
        return await self._computing.do(work)
