"""The report of a run says of each keyword what became of it."""

import json
from pathlib import Path

from tests.articles.article_runs import write_articles
from tests.articles.blind_verdicts import problems_in
from tests.articles.documentations import CORPORA
from tests.articles.keyword_draw import DrawnKeyword
from tests.articles.measurement_report import share, slug, write_report

_KEYWORDS = (
    DrawnKeyword("cold brew", "marketer", 384),
    DrawnKeyword("brewing on mars", "heading", 150),
    DrawnKeyword("too short", "heading", 20),
    DrawnKeyword("tax return deadline", "foreign"),
)


async def test_a_run_is_reported_with_its_articles_refusals_and_an_empty_form(tmp_path: Path) -> None:
    run = await write_articles("coffee", CORPORA["coffee"], _KEYWORDS)
    assert share(run.counted) == 0.5
    assert (len(run.articles), run.off_topic_articles, run.skipped) == (1, [], ())
    assert run.articles[0].not_quoted == ()

    report = write_report([run], tmp_path)
    assert report.splitlines()[4].startswith("| coffee | 1/3 | 1/2 = 50% |")
    assert "| brewing on mars | heading | 150 | refused: " in report
    assert "Off topic: tax return deadline." in report
    article = (tmp_path / "articles/coffee/cold-brew.md").read_text()
    assert article.startswith("Keyword: cold brew\n\n# Cold brew")
    written = json.loads((tmp_path / "report.json").read_text())[0]["keywords"]
    assert [bool(each["article"]) for each in written] == [True, False, False, False]
    assert all(each["refusal"] and each["cpu_ms"] > 0 for each in written[1:])
    form = json.loads((tmp_path / "verdicts.json").read_text())
    assert [each["keyword"] for each in form["verdicts"]] == ["cold brew"]
    assert problems_in(form), "nobody has filled it in"


async def test_an_article_that_says_the_same_is_for_no_reader(tmp_path: Path) -> None:
    keywords = [DrawnKeyword(each, "marketer", 384) for each in ("moka pot", "how to use a moka pot")]
    run = await write_articles("coffee", CORPORA["coffee"], keywords)
    assert [each.same_as for each in run.runs] == ["", "moka pot"]
    assert "says the same as “moka pot”" in write_report([run], tmp_path)
    assert [each.name for each in (tmp_path / "articles/coffee").iterdir()] == ["moka-pot.md"]
    form = json.loads((tmp_path / "verdicts.json").read_text())
    assert [each["keyword"] for each in form["verdicts"]] == ["moka pot"]


def test_files_are_named_after_keywords() -> None:
    assert [slug(each) for each in ("“buzhash” chunker", "ans", "+")] == ["buzhash-chunker", "ans", "keyword"]
