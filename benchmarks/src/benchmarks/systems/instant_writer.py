"""The orchestrator with a writer that takes no time, to see what all the rest costs: `python -m benchmarks.systems.instant_writer`.

It answers to the name of the extractive writer and gives what that one made of the same sources before.
"""

from collections.abc import Sequence
from functools import partial

from messaging import command_line
from orchestrator.app import build
from orchestrator.brands import EXTRACTIVE
from orchestrator.settings import Settings
from orchestrator.writing import Article, ArticleSource, StatelessWriter
from orchestrator.writing.extractive import ExtractiveWriter


class InstantWriter:
    """Composes an article the first time that a keyword is written about, and remembers it.

    Every brand of a benchmark asks for the same keywords, and is answered from the same documents.
    """

    def __init__(self) -> None:
        self._composing = ExtractiveWriter()
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
