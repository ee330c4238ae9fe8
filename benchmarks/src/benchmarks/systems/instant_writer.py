"""The orchestrator with an instant writer, which shows the cost of the rest: `python -m benchmarks.systems.instant_writer`.

It has the extractive writer's name and returns that writer's earlier articles for the same sources.
"""

from collections.abc import Sequence
from functools import partial

from envelope.brand.settings import MIN_SOURCES
from messaging import command_line
from orchestrator.app import build
from orchestrator.brands import EXTRACTIVE
from orchestrator.settings import Settings
from writing import Article, ArticleSource, StatelessWriter
from writing.extractive import ExtractiveWriter


class InstantWriter:
    """Composes an article for a keyword once, and returns it from then on.

    All brands of a benchmark submit the same keywords, with the same documents.
    """

    def __init__(self) -> None:
        self._composing = ExtractiveWriter(MIN_SOURCES)
        self._articles: dict[str, Article] = {}

    async def write(
        self, *, keyword: str, sources: Sequence[ArticleSource], brand_name: str, language: str
    ) -> Article:
        known = self._articles.get(keyword)
        if known is None:
            known = await self._composing.write(
                keyword=keyword, sources=sources, brand_name=brand_name, language=language
            )
            self._articles[keyword] = known
        return known


if __name__ == "__main__":
    command_line(
        "orchestrator", Settings, partial(build, other_writers={EXTRACTIVE: StatelessWriter(InstantWriter())})
    )
