"""corpus_search: the cost of a keyword's research beside 100 documents, 6,400 and 100,000, in turns."""

import asyncio
import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.accounting import MEGABYTE, resident_bytes
from benchmarks.errors import MeasurementError
from benchmarks.load.messages import TYPE, row_of
from benchmarks.reporting.results import NO_GATE, ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import CORPUS, KEYWORDS, Stack, stack
from brandctl.local import processes
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging.broker.publisher import Publisher

_SEED: Final = 20_261
_MADE_UP: Final = 30_000
"""Words that no document of the demo has; together with its own they are drawn by Zipf's law."""
_SYLLABLES: Final = tuple(first + second for first in "bcdfgklmnprstvz" for second in "aeiou")
_GENERAL: Final = 20
"""The demo's most frequent words, such as “the”."""
_OTHERS: Final = 9
"""Made-up words for each further one of the demo's."""
_PARAGRAPHS: Final = 6
_WORDS: Final = 60
"""Of a paragraph."""
_IN_A_FOLDER: Final = 1_000
_FILES_A_SECOND: Final = 40
"""Slower than that, reading has failed."""
_LOOK_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 120.0
_WORD: Final = re.compile(r"[a-z]{2,}")
_RESULTS: Final = """
    select keyword, array_agg(coalesce(path, title) order by n)
    from research join sources using (research_id) where brand_slug = $1 group by keyword
"""


_ANSWERED: Final = "select count(*) from processed_events"
"""A keyword with too few sources has no row in `research`, but is answered."""


def write_documents(folder: Path, count: int) -> None:
    """Writes HTML pages whose words are drawn by Zipf's law: those of the demo's documents, by their own frequency, and made-up ones."""
    texts = [path.read_text().lower() for path in sorted(CORPUS.rglob("*.md"))]
    known = [word for word, _ in Counter(_WORD.findall(" ".join(texts))).most_common()]
    rng = random.Random(_SEED)
    made_up = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(_MADE_UP)]
    # The demo's words for a tenth of all, so that those of its keywords are in many documents, which are not about them.
    words = known[:_GENERAL]
    for place, word in enumerate(known[_GENERAL:]):
        words += [*made_up[place * _OTHERS : (place + 1) * _OTHERS], word]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in range(count):
        part = folder / f"part-{number // _IN_A_FOLDER:03d}"
        if number % _IN_A_FOLDER == 0:
            part.mkdir(parents=True)
        drawn = iter(rng.choices(words, cum_weights=weights, k=_PARAGRAPHS * _WORDS + 8))
        title = " ".join(itertools.islice(drawn, 5)).capitalize()
        text = "\n".join(_paragraph(drawn) for _ in range(_PARAGRAPHS))
        (part / f"page-{number:06d}.html").write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
            f"<body><main><article><h1>{title}</h1>\n{text}\n</article></main></body></html>\n"
        )


def _paragraph(words: Iterator[str]) -> str:
    sentences = (" ".join(itertools.islice(words, _WORDS // 4)).capitalize() for _ in range(4))
    return f"<p>{' '.join(f'{each}.' for each in sentences)}</p>"


@dataclass
class _Corpus:
    """A research service with its documents."""

    documents: int
    services: Stack
    sql: Sql
    files_a_second: float
    cpu_ms: list[float] = field(default_factory=list)
    database_ms: list[float] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)

    def search(self, run: BenchmarkRun, brand: str) -> None:
        """Has all keywords researched for a brand that has asked for none of them."""
        before = run.nodes.cpu(self.services.pids)
        known = self.sql.value(_ANSWERED)
        asyncio.run(_send(self.services.rabbitmq_url, brand))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (answered := self.sql.value(_ANSWERED) - known) < len(KEYWORDS):
            if time.monotonic() > deadline:
                raise MeasurementError(
                    f"{answered} of {len(KEYWORDS)} keywords are answered beside {self.documents:,} documents"
                )
            time.sleep(_LOOK_SECONDS)
        used = run.nodes.cpu(self.services.pids) - before
        self.cpu_ms.append((used.python + used.database) * 1000 / len(KEYWORDS))
        self.database_ms.append(used.database * 1000 / len(KEYWORDS))
        self.sources = {keyword: list(sources) for keyword, sources in self.sql.rows(_RESULTS, brand)}


async def _send(url: str, brand: str) -> None:
    publisher = Publisher(url, name="benchmarks keywords")
    running = asyncio.create_task(publisher.run())
    await publisher.wait_until_ready()
    rows = []
    for keyword in KEYWORDS:
        event_id = new_event_id()
        message = DomainMessage[ResearchRequested](
            event_id=event_id,
            type=TYPE,
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id=str(event_id),
            payload=ResearchRequested(brand_slug=brand, keyword=keyword),
        )
        rows.append(row_of(encode(message)))
    if refused := [each for each in await publisher.publish(rows) if each is not None]:
        raise MeasurementError(f"the broker refused keywords: {refused[0]}")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def corpus_search(run: BenchmarkRun) -> list[ResultRow]:
    sizes: Sequence[int] = run.of((100, 1_000), (100, 6_400, 100_000))
    rows = {size: ResultRow("corpus_search", f"ours, {size:,} documents") for size in sizes}
    try:
        with ExitStack() as cleanup:
            corpora = [_begin(run, cleanup, size) for size in sizes]
            for number in range(run.wanted_rounds or run.of(2, 7)):
                for each in corpora:
                    each.search(run, f"brand-{number}")
            for each in corpora:
                _fill(rows[each.documents], each, corpora[0])
                run.log(f"corpus_search, {each.documents:,} documents: {rows[each.documents].extra}")
    except (MeasurementError, processes.StartError) as error:
        for row in rows.values():
            row.gate = f"failed: no figure: {error}"
        run.log(f"corpus_search failed: {error}")
    return list(rows.values())


def _begin(run: BenchmarkRun, cleanup: ExitStack, size: int) -> _Corpus:
    """Starts research beside the demo's documents and as many others as make it `size`; returns once all are read."""
    folder = run.nodes.folder / f"corpus-{size}"
    own = sorted(CORPUS.rglob("*.md"))
    for each in own:
        place = folder / each.relative_to(CORPUS)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(each.read_bytes())
    write_documents(folder / "others", size - len(own))
    began = time.monotonic()
    services = cleanup.enter_context(
        stack(run.nodes, ("research",), corpus=folder, variables={"CORPUS_RESCAN_SECONDS": "86400"})
    )
    sql = cleanup.enter_context(Sql(services.database_url("research")))
    deadline = began + _PATIENCE_SECONDS + size / _FILES_A_SECOND
    while (read := sql.value("select count(*) from documents")) < size:
        if time.monotonic() > deadline:
            raise MeasurementError(
                f"{read:,} of {size:,} documents are read after {time.monotonic() - began:.0f} s"
            )
        time.sleep(_LOOK_SECONDS)
    seconds = time.monotonic() - began
    with Sql(run.nodes.administrator_url(services.database_url("research"))) as administrator:
        administrator.execute("vacuum analyze")
    run.log(f"corpus_search: {size:,} documents are read in {seconds:.0f} s")
    return _Corpus(size, services, sql, size / seconds)


def _fill(row: ResultRow, corpus: _Corpus, smallest: _Corpus) -> None:
    row.gate = NO_GATE
    row.rounds = [round(each, 1) for each in corpus.cpu_ms]
    row.spread = spread_of(corpus.cpu_ms)
    row.extra |= {
        "documents": corpus.documents,
        "passages": corpus.sql.value("select count(*) from passages"),
        "cpu_ms": round(median(corpus.cpu_ms), 1),
        "database_ms": round(median(corpus.database_ms), 1),
        "beside_smallest": round(median(corpus.cpu_ms) / median(smallest.cpu_ms), 2),
        "files_a_second": round(corpus.files_a_second),
        "rss_mb": round(resident_bytes(corpus.services.pids[0]) / MEGABYTE, 1),
        "same_sources": sum(corpus.sources.get(each) == smallest.sources.get(each) for each in KEYWORDS),
        "keywords": len(KEYWORDS),
    }
