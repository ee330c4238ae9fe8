"""Measures the processor time of keywords: `PYTHON cost_worker.py FOLDER < keywords.json`, with the Python of a checkout.

It imports nothing of this checkout's tests, so that older checkouts can run it.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from writing import folder_sources
from writing.extractive.writer import ExtractiveWriter
from writing.writer import InsufficientSourcesError


async def _measure(folder: Path, keywords: list[str]) -> dict[str, Any]:
    documents = await folder_sources.read_documents(folder, on_skipped=lambda _path, _why: None)
    find_sources, min_sources = _prepare(documents)
    # The processes that read have ended.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    reading = time.process_time() + used.ru_utime + used.ru_stime
    costs = []
    for keyword in keywords:
        started = time.process_time()
        try:
            sources = find_sources(keyword)
            await ExtractiveWriter(min_sources).write(
                keyword=keyword, sources=sources, brand_name="", language="en"
            )
            made = True
        except InsufficientSourcesError:
            made = False
        costs.append((keyword, 1000 * (time.process_time() - started), made))
    return {"reading_ms": 1000 * reading, "keywords": costs}


def _prepare(documents: Any) -> tuple[Callable[[str], Any], int]:
    """Returns what finds the sources of a keyword, and how many an article needs, in this checkout."""
    module: Any = folder_sources
    if hasattr(module, "DocumentIndex"):
        return module.DocumentIndex(documents).find_sources, 1
    return partial(module.find_sources, documents=documents, min_sources=3), 3


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure(Path(sys.argv[1]), json.load(sys.stdin)))))  # noqa: T201
