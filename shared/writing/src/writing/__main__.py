"""Writes a digest on a keyword from a folder of documents, as Markdown: paragraphs of the documents, each with its source."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from documents.source_minimum import MIN_SHOWN_WORDS
from reading.folder import FolderUnavailableError, licence
from reading.formats import SUFFIXES
from reading.pool import ReadersUnavailableError
from writing.article import Article, ArticleSource
from writing.body import escape
from writing.extractive.writer import ExtractiveWriter
from writing.folder_sources import DocumentIndex, read_documents
from writing.writer import InsufficientSourcesError

_EPILOG: Final = f"""\
example:
  python -m writing --sources deploy/demo/corpus "cold brew" > cold-brew.md

It reads the folder and the folders in it, but nothing hidden. Formats: {" ".join(sorted(SUFFIXES))}
It needs no key, no database and no network.

An article quotes the page, or the section of a page, that is named like the keyword, with at least {MIN_SHOWN_WORDS} words.

exit codes:
  0  the article is on standard output
  1  there is none; standard error says what the documents lack
  2  the command is used wrongly
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m writing",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("keyword", metavar="KEYWORD", help='the subject, such as "cold brew"')
    parser.add_argument(
        "--sources", type=Path, required=True, metavar="FOLDER", help="the folder with the documents"
    )
    parser.add_argument(
        "--language",
        default="en",
        metavar="TAG",
        help="language of the article, such as en or en-GB (default: en); text in another one is not quoted",
    )
    parser.add_argument(
        "--brand-name",
        default="",
        metavar="NAME",
        help="name of the brand, as writers get it; the digest says nothing of it",
    )
    given = parser.parse_args(arguments)
    try:
        print(asyncio.run(_write(given)))  # noqa: T201
    except FolderUnavailableError as error:
        parser.error(f"--sources: {error}")
    except (InsufficientSourcesError, ReadersUnavailableError) as error:
        _say(f"No article: {error}")
        return 1
    return 0


async def _write(given: argparse.Namespace) -> str:
    documents = await read_documents(
        given.sources, on_skipped=lambda path, why: _say(f"Skipped {path}: {why}")
    )
    sources = DocumentIndex(documents).find_sources(given.keyword, licence=licence(given.sources))
    article = await ExtractiveWriter(min_sources=1).write(
        keyword=given.keyword, sources=sources, brand_name=given.brand_name, language=given.language
    )
    return _page(article, [*{each.n: each for each in sources if each.n in article.cited}.values()])


def _page(article: Article, cited: Sequence[ArticleSource]) -> str:
    """The article as Markdown, with its title, the note how it was made, and its sources."""
    sources = "\n".join(
        f"- [{each.n}] {', '.join(escape(fact) for fact in (each.title, each.url or each.path, each.licence) if fact)}"
        for each in cited
    )
    return f"# {escape(article.title)}\n\n{article.body_markdown.strip()}\n\n*{article.label}*\n\n## Sources\n\n{sources}"


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
