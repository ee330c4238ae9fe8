"""Measures the processor time of keywords with the packages on PYTHONPATH: `cost_worker.py FOLDER < keywords.json`.

It knows nothing of the checkout beside it, so that it can run older ones.
"""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from writing.extractive.writer import ExtractiveWriter
from writing.folder_sources import find_sources, read_documents
from writing.writer import InsufficientSourcesError

_MIN_SOURCES = 3


async def _measure(folder: Path, keywords: list[str]) -> dict[str, Any]:
    documents = await read_documents(folder, on_skipped=lambda _path, _why: None)
    # The processes that read have ended.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    reading = time.process_time() + used.ru_utime + used.ru_stime
    costs = []
    for keyword in keywords:
        started = time.process_time()
        try:
            sources = find_sources(keyword, documents, min_sources=_MIN_SOURCES)
            await ExtractiveWriter(_MIN_SOURCES).write(
                keyword=keyword, sources=sources, brand_name="", language="en"
            )
            made = True
        except InsufficientSourcesError:
            made = False
        costs.append((keyword, 1000 * (time.process_time() - started), made))
    return {"reading_ms": 1000 * reading, "keywords": costs}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure(Path(sys.argv[1]), json.load(sys.stdin)))))  # noqa: T201
