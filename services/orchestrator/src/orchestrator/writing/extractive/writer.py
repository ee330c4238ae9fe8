"""The composer as a `Writer`: beside the event loop, with the errors a writer may raise."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from messaging import Unprocessable
from orchestrator.writing.article import Article, Source
from orchestrator.writing.extractive.composer import NotEnoughMaterialError, compose


class ExtractiveWriter:
    """Composes in a thread: long sources take a while, during which other messages have to be served.

    One thread: composing is pure computing, so a second one would only quarrel with it and with the event loop.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="composer")

    async def write(
        self, *, keyword: str, sources: Sequence[Source], brand_name: str, language: str
    ) -> Article:
        """As `Writer` has it.

        Raises:
            Unprocessable: nothing in the sources reads as a sentence on its own.
        """
        work = partial(compose, keyword=keyword, sources=sources, brand_name=brand_name, language=language)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except NotEnoughMaterialError as exc:
            raise Unprocessable(
                f"{exc}; add material on '{keyword}' to what research reads, then ask again"
            ) from exc
