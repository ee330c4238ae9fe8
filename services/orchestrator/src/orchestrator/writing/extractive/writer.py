"""The composer as a `Writer`: beside the event loop, with the errors a writer may raise."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from orchestrator.computing import ComputeThread
from orchestrator.writing.article import Article, ArticleSource
from orchestrator.writing.extractive.composer import compose


class ExtractiveWriter:
    """Composes in a thread: long sources take a while, during which other messages have to be served."""

    def __init__(self, computing: ComputeThread | None = None) -> None:
        self._computing = computing or ComputeThread()

    async def write(
        self,
        *,
        keyword: str,
        sources: Sequence[ArticleSource],
        brand_name: str,  # noqa: ARG002 - it quotes, and says nothing of the brand
        language: str,
    ) -> Article:
        """As `Writer` has it.

        Raises:
            InsufficientSourcesError: too little of the sources can stand by itself, or they say not what the keyword is.
        """
        today = datetime.now(UTC).date()
        work = partial(compose, keyword=keyword, sources=sources, language=language, today=today)
        return await self._computing.do(work)
