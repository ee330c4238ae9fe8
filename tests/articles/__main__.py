"""Measures articles without a model on whole documentations: how many keywords become articles, and what they cost.

Writes a report and the articles to a folder; the pages of Debian's packages are read from where they are installed.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from tests.articles.article_runs import write_articles
from tests.articles.cost_comparison import compare_costs
from tests.articles.documentations import CORPORA, DOCUMENTATIONS, folder_of
from tests.articles.keyword_draw import (
    SEED,
    DrawnKeyword,
    draw_off_topic,
    draw_treated,
    read_marketers_keywords,
)
from tests.articles.measurement_report import write_report
from tests.articles.raw_pages import read_folder

FOREIGN_SUBJECTS = Path(__file__).with_name("foreign_subjects.txt").read_text().splitlines()


def draw_keywords(name: str, folder: Path, seed: str = SEED) -> list[DrawnKeyword]:
    """Returns the keywords of a documentation: drawn from its own titles, or a marketer's, and those off topic."""
    documentation, seed = read_folder(folder), f"{seed}: {name}"
    treated = (
        read_marketers_keywords(name, documentation) if name in CORPORA else draw_treated(documentation, seed)
    )
    return treated + draw_off_topic(documentation, FOREIGN_SUBJECTS, seed)


def main() -> int:
    names = [*(each.package for each in DOCUMENTATIONS), *CORPORA]
    parser = argparse.ArgumentParser(prog="python -m tests.articles", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(names)}")
    parser.add_argument(
        "--sources", type=Path, metavar="FOLDER", help="another folder of documentation instead"
    )
    parser.add_argument("--out", type=Path, default=Path("build/articles"), help="default: build/articles")
    parser.add_argument("--seed", default=SEED, help="draw other keywords than the tests do")
    parser.add_argument(
        "--install", action="store_true", help="install Debian's packages that are missing (as root)"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="CHECKOUT",
        help="compare the cost of a keyword with another checkout's",
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of each checkout (default: 3)")
    given = parser.parse_args()
    if unknown := set(given.names).difference(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    folders = {name: CORPORA.get(name) or folder_of(name, install=given.install) for name in given.names}
    if given.sources:
        folders[given.sources.name] = given.sources
    if not folders:
        parser.error("say what to measure, or --sources FOLDER")
    drawn = {name: draw_keywords(name, folder, given.seed) for name, folder in folders.items()}
    if given.against:
        for name, folder in folders.items():
            keywords = [each.keyword for each in drawn[name]]
            print(f"{name}: {compare_costs(folder, keywords, given.against, rounds=given.rounds)}")  # noqa: T201
        return 0
    measured = [asyncio.run(write_articles(name, folders[name], drawn[name])) for name in folders]
    report = write_report(measured, given.out)
    print(report.partition("\n## ")[0])  # noqa: T201
    print(f"The whole report, and the articles: {given.out}", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
