"""Whole articles by a model that answers as a good one does, on five subjects.

`python shared/writing/tests/articles/test_writing_model_whole_articles.py bicycle-chain` shows one of them, with its cuts.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from good_model import FOLDER, GoodModel, Line, Notes, Subject

from writing.article import Article
from writing.body import Body, prose_of
from writing.computing import ComputeThread
from writing.cut_sentences import put_back
from writing.judging import JudgedArticle, judge_article
from writing.model.writer import ModelWriter

SUBJECTS = tuple(Subject(path.stem) for path in sorted(FOLDER.glob("*.toml")))


async def write(subject: Subject) -> tuple[Article, GoodModel]:
    model = GoodModel(subject)
    writer = ModelWriter(model, Notes(), 32_768, model)
    article = await writer.write(
        keyword=subject.keyword, sources=subject.sources, brand_name="Acme", language="en"
    )
    return article, model


async def judged(subject: Subject, article: Article) -> JudgedArticle:
    async def read(_: Any) -> dict[Any, str]:
        return {}

    return await judge_article(
        article,
        subject.sources,
        keyword=subject.keyword,
        others=(),
        read=read,
        wishes=Notes.wishes,
        computing=ComputeThread(),
    )


def drafted(subject: Subject) -> list[Line]:
    return [
        line
        for section in subject.told["sections"]
        for paragraph in subject.lines(section)
        for line in paragraph
        if isinstance(line, Line)
    ]


@pytest.mark.extended
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
async def test_an_article_is_whole_and_keeps_all_bounds(subject: Subject) -> None:
    article, _ = await write(subject)
    measured = await judged(subject, article)

    assert measured.held_for == ()
    figures = {each.name: each.value for each in measured.measures}
    assert article.word_count >= 600
    assert 35 <= figures["readability"] <= 50
    planned = [each["heading"] for each in subject.told["sections"]][1:]
    assert [f"## {each}" for each in planned] == [
        line for line in article.body_markdown.splitlines() if line.startswith("## ")
    ]
    assert article.title == subject.told["title"]
    assert "| --- |" in article.body_markdown


@pytest.mark.extended
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
async def test_no_lie_is_printed_and_each_cut_has_its_reason(subject: Subject) -> None:
    article, _ = await write(subject)

    lies = {line.text for line in drafted(subject) if line.is_lie}
    assert lies
    assert not any(lie in article.body_markdown for lie in lies)
    assert article.evidence is not None
    cuts = {each.text: each for each in article.evidence.cuts}
    assert lies <= cuts.keys()
    assert all(cut.problem and cut.nearest for cut in cuts.values())
    # After mending, few true sentences are lost.
    honest = len(drafted(subject)) - len(lies)
    assert len(cuts.keys() - lies) <= honest / 8


@pytest.mark.extended
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
async def test_each_cut_can_go_back_where_it_was_drafted(subject: Subject) -> None:
    article, _ = await write(subject)
    assert article.evidence is not None
    body, cuts = article.body_markdown, list(article.evidence.cuts)
    for number, cut in enumerate(cuts, 1):
        body = put_back(body, cuts, number)
        cuts[number - 1] = replace(cut, kept_by="ann")

    sections = {section.heading or "": "\n".join(section.sentences) for section in Body(body).sections}
    assert all(cut.text in sections[cut.heading] for cut in cuts)
    prose = prose_of(body)
    places = [place for line in drafted(subject) if (place := prose.find(line.text)) >= 0]
    assert len(places) > len(cuts)
    assert places == sorted(places)


@pytest.mark.extended
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
async def test_each_sentence_rests_on_passages_or_states_nothing(subject: Subject) -> None:
    article, _ = await write(subject)

    assert article.evidence is not None
    sentences = article.evidence.sentences
    leads_over = [each.text for each in sentences if each.verdict == "transition"]
    assert 2 <= len(leads_over) < len(sentences) / 5
    for each in sentences:
        assert bool(each.passages) == bool(each.sources) == (each.verdict != "transition")
        assert {article.evidence.passages[name].n for name in each.passages} >= set(each.sources)


@pytest.mark.extended
async def test_the_editing_pass_is_taken_where_it_loses_nothing() -> None:
    edits, taken = 0, 0
    for subject in SUBJECTS:
        article, _ = await write(subject)
        assert article.evidence is not None
        printed = {each.text for each in article.evidence.sentences}
        for section in subject.told["sections"]:
            for new, *old in section.get("edits", ()):
                edits += 1
                taken += new in printed
                # Either the new sentence stands, or what it would have replaced.
                assert new in printed or printed.intersection(old)

    assert taken >= 0.6 * edits >= 3


async def test_the_model_is_told_how_long_the_whole_and_each_part_is_to_be() -> None:
    _, model = await write(SUBJECTS[0])

    told = {
        shape: data for shape, data in model.told if shape in {"Outline", "SectionDraft", "EditedArticle"}
    }
    assert (told["Outline"]["words"], told["Outline"]["least_words"]) == (700, 250)
    parts = [data for shape, data in model.told if shape == "SectionDraft"]
    assert 650 <= sum(each["words"] for each in parts) <= 700
    assert [each["place"] for each in parts] == ["opening", *["middle"] * (len(parts) - 2), "closing"]
    assert [shape for shape, _ in model.told].count("EditedArticle") == 1


if __name__ == "__main__":
    shown, _ = asyncio.run(write(Subject(sys.argv[1])))
    points = "\n".join(f"- {point}" for point in shown.key_points)
    told = [f"# {shown.title}\n\n{shown.meta_description}\n\n{points}\n\n{shown.body_markdown}"]
    told += [f"{shown.word_count} words, {shown.draft}\n"]
    for cut in shown.evidence.cuts if shown.evidence else ():
        told.append(f"cut ({cut.reason}): {cut.text}\n    {cut.problem}\n    nearest: {cut.nearest}")
    sys.stdout.write("\n".join(told) + "\n")
