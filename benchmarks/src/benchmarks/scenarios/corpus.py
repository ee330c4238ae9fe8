"""corpus_index: a folder of HTML pages is read and indexed, and checked again without changes."""

import random
import re
import time
from pathlib import Path
from typing import Final

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import NO_GATE, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import CORPUS, Stack, stack
from brandctl.local import processes

_FILES: Final = 1_000
_PARAGRAPHS: Final = 24
_SEED: Final = 20_241
_LOOK_SECONDS: Final = 0.2
"""Pause between two looks of the service at its folder."""
_LOOKS: Final = 2
"""Checks before the one that counts."""
_PATIENCE_SECONDS: Final = 300.0
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")


def corpus_index(run: BenchmarkRun) -> list[ResultRow]:
    new, unchanged = ResultRow("corpus_index", "ours"), ResultRow("corpus_index", "ours, unchanged")
    files = min(run.wanted_messages or run.of(250, _FILES), _FILES)
    folder, pages = run.nodes.folder / "corpus", run.nodes.folder / "pages"
    folder.mkdir(exist_ok=True)
    size = write_pages(pages, files)
    try:
        looks = {"CORPUS_RESCAN_SECONDS": str(_LOOK_SECONDS), "LOG_LEVEL": "debug", "LOG_FORMAT": "json"}
        with (
            stack(run.nodes, ("research",), corpus=folder, variables=looks) as services,
            Sql(services.database_url("research")) as sql,
        ):
            before = run.nodes.cpu(services.pids)
            pages.rename(folder / "pages")
            new.extra["seconds"] = _indexed(services, sql, files)
            new.cpu_s_per_1k = (run.nodes.cpu(services.pids) - before).per_thousand(files)
            unchanged.extra["seconds"] = _looked_again(services)
    except (MeasurementError, processes.StartError) as error:
        for row in (new, unchanged):
            row.gate = f"failed: no figure: {error}"
        run.log(new.gate)
        return [new, unchanged]
    for row in (new, unchanged):
        row.gate = NO_GATE
        row.extra |= {"files": files, "megabytes": round(size / 1_000_000, 1)}
        run.log(f"corpus_index, {row.system}: {row.extra['seconds']} s for {files:,} files")
    return [new, unchanged]


def write_pages(folder: Path, files: int) -> int:
    """Writes different HTML pages with sentences of the demo's documents; returns their bytes."""
    folder.mkdir()
    rng, words = random.Random(_SEED), _sentences()
    size = 0
    for number in range(files):
        title = f"Page {number} about {' '.join(rng.choice(words).split()[:5]).strip('.,')}"
        text = []
        for paragraph in range(_PARAGRAPHS):
            if paragraph % 6 == 0:
                text.append(f"<h2>Part {paragraph // 6 + 1} of page {number}</h2>")
            text.append(f"<p>{' '.join(rng.choices(words, k=4))} This stands on page {number}.</p>")
        body = "\n".join(text)
        html = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
            f'<nav><a href="/">Home</a> <a href="/all">All pages</a></nav><main><article><h1>{title}</h1>\n{body}\n'
            "</article></main><footer><p>Made by those who make it.</p></footer></body></html>\n"
        )
        (folder / f"page-{number:05d}.html").write_text(html)
        size += len(html.encode())
    return size


def _sentences() -> list[str]:
    texts = [path.read_text() for path in sorted(CORPUS.rglob("*.md"))]
    lines = [line for text in texts for line in text.splitlines() if line[:1].isalpha()]
    return [sentence for line in lines for sentence in _SENTENCE.split(line) if "<" not in sentence]


def _indexed(services: Stack, sql: Sql, files: int) -> float:
    """Seconds by the service's own measure, once every file is read."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for line in services.log_of("research"):
            if line.get("event") == "corpus_indexed":
                read, documents = line["read"], sql.value("select count(*) from documents")
                if read - line["skipped"] != files or documents != files:
                    raise MeasurementError(
                        f"{read} files were read, {line['skipped']} skipped, {documents} stored"
                    )
                return float(line["seconds"])
        time.sleep(_LOOK_SECONDS)
    raise MeasurementError(f"{files} files were not read within {_PATIENCE_SECONDS:.0f} s")


def _looked_again(services: Stack) -> float:
    """Seconds of the third check without changes, by the service's own measure."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        looks = [line for line in services.log_of("research") if line.get("event") == "corpus_unchanged"]
        if len(looks) > _LOOKS and looks[-1]["files"]:
            return float(looks[-1]["seconds"])
        time.sleep(_LOOK_SECONDS)
    raise MeasurementError(f"nothing was looked at again within {_PATIENCE_SECONDS:.0f} s")
