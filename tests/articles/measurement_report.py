"""The report of a measurement, as Markdown and JSON, and the articles as files for readers."""

import json
import random
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.articles.article_runs import ArticleRun, DocumentationRun
from tests.articles.keyword_draw import SEED

_DESCRIPTION_LENGTHS = (80, 155)


def write_report(measured: Sequence[DocumentationRun], out: Path) -> str:
    """Writes `report.md`, `report.json`, `articles/DOCUMENTATION/*.md` and `verdicts.json`; returns the Markdown."""
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(_markdown(measured)) + "\n"
    (out / "report.md").write_text(text)
    (out / "report.json").write_text(_json([_as_json(each) for each in measured]))
    for documentation in measured:
        folder = out / "articles" / documentation.name
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("*.md"):
            stale.unlink()
        for run in _distinct(documentation.articles) + documentation.off_topic_articles:
            (folder / f"{slug(run.drawn.keyword)}.md").write_text(page_for_readers(run))
    blank = [
        {"documentation": each.name, "keyword": run.drawn.keyword, "signable": None, "reason": ""}
        for each in measured
        for run in _shuffled(_distinct(each.articles))
    ]
    (out / "verdicts.json").write_text(_json({"round": "", "date": "", "reader": "", "verdicts": blank}))
    return text


def _distinct(runs: Sequence[ArticleRun]) -> list[ArticleRun]:
    return [run for run in runs if not run.same_as]


def _shuffled(runs: Sequence[ArticleRun]) -> list[ArticleRun]:
    """Puts them in any order, so that the first ten are a sample."""
    return random.Random(SEED).sample(runs, len(runs))


def page_for_readers(run: ArticleRun) -> str:
    """The article as a reader of the site sees it, with its description, and nothing that says how it came about."""
    if run.article is None:
        raise ValueError(f"there is no article on {run.drawn.keyword!r}")
    sources = "\n".join(dict.fromkeys(f"- [{each.n}] {each.title} ({each.path})" for each in run.sources))
    return (
        f"Keyword: {run.drawn.keyword}\n\n# {run.article.title}\n\n> {run.article.meta_description}\n\n"
        f"{run.article.body_markdown.strip()}\n\n## Sources\n\n{sources}\n"
    )


def slug(keyword: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", keyword.lower()).strip("-") or "keyword"


def share(runs: Sequence[ArticleRun]) -> float:
    """The fraction that became articles; 1 if there are none."""
    return sum(run.article is not None for run in runs) / len(runs) if runs else 1.0


def _markdown(measured: Sequence[DocumentationRun]) -> Iterator[str]:
    yield "# Articles without a model\n"
    yield (
        "| documentation | keywords: articles | section of 150 words: articles | titles, headings, index entries | off topic refused"
        " | articles with a part not quoted | descriptions of 80 to 155 | CPU ms, median (p95) |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for each in measured:
        yield _row(each.name, each.runs)
    yield _row("**all**", [run for each in measured for run in each.runs])
    for each in measured:
        yield f"\n## {each.name}\n"
        if each.skipped:
            yield f"Not read: {len(each.skipped)} files, such as {each.skipped[0]}\n"
        yield from _details(each)


def _row(name: str, runs: Sequence[ArticleRun]) -> str:
    treated = [run for run in runs if not run.is_off_topic]
    counted = [run for run in runs if run.counts]
    off_topic = [run for run in runs if run.is_off_topic]
    articles = [run for run in treated if run.article]
    lengths = _description_lengths(articles)
    short, long = _DESCRIPTION_LENGTHS
    kinds = (
        _fraction([run for run in treated if run.drawn.kind in names])
        for names in (("title",), ("heading",), ("index entry",))
    )
    costs = sorted(run.cpu_ms for run in treated) or [0.0]
    return (
        f"| {name} | {_fraction(treated)} | {_fraction(counted)} = {share(counted):.0%} | {', '.join(kinds)}"
        f" | {sum(run.article is None for run in off_topic)}/{len(off_topic)}"
        f" | {sum(bool(run.not_quoted) for run in articles)}"
        f" | {sum(short <= length <= long for length in lengths)}/{len(lengths)}"
        f" | {statistics.median(costs):.0f} ({costs[int(0.95 * (len(costs) - 1))]:.0f}) |"
    )


def _details(documentation: DocumentationRun) -> Iterator[str]:
    yield "| keyword | from | words of its section | article, or why there is none |"
    yield "|---|---|---|---|"
    for run in documentation.runs:
        if not run.is_off_topic:
            yield f"| {_cell(run.drawn.keyword)} | {run.drawn.kind} | {run.drawn.words} | {_outcome(run)} |"
    wrong = documentation.off_topic_articles
    off_topic = [run.drawn.keyword for run in documentation.runs if run.is_off_topic]
    yield f"\nOff topic: {', '.join(off_topic)}."
    yield from (
        f"\nAn article on an off-topic keyword: {run.drawn.keyword}: {_outcome(run)}" for run in wrong
    )
    yield from (
        f"\nNot in its pages, in “{run.drawn.keyword}”:\n\n"
        + "\n".join(f"- {part[:300]}" for part in run.not_quoted)
        for run in documentation.runs
        if run.not_quoted
    )


def _outcome(run: ArticleRun) -> str:
    if run.article is None:
        return f"refused: {_cell(run.refusal)}"
    repeats = (
        f"; says the same as “{_cell(run.same_as)}”, which a brand would get alone" if run.same_as else ""
    )
    return (
        f"“{_cell(run.article.title)}”, {run.article.word_count} words, {len(run.sources)} sources{repeats}"
    )


def _fraction(runs: Sequence[ArticleRun]) -> str:
    return f"{sum(run.article is not None for run in runs)}/{len(runs)}"


def _description_lengths(runs: Iterable[ArticleRun]) -> list[int]:
    return [len(run.article.meta_description) for run in runs if run.article]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _as_json(documentation: DocumentationRun) -> dict[str, Any]:
    return {
        "documentation": documentation.name,
        "skipped": list(documentation.skipped),
        "counted_share": round(share(documentation.counted), 4),
        "keywords": [_run_as_json(run) for run in documentation.runs],
    }


def _run_as_json(run: ArticleRun) -> dict[str, Any]:
    article = run.article
    return {
        "keyword": run.drawn.keyword,
        "kind": run.drawn.kind,
        "section_words": run.drawn.words,
        "refusal": run.refusal or None,
        "cpu_ms": run.cpu_ms,
        "not_quoted": list(run.not_quoted),
        "article": article
        and {
            "title": article.title,
            "description_length": len(article.meta_description),
            "words": article.word_count,
            "sources": [each.path for each in run.sources],
        },
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
