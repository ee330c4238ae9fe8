"""What becomes of the sentences that the checks cut: where they stood, and how an editor keeps one."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence, KeptSentence
from writing.body import prose_of
from writing.cut_sentences import put_back
from writing.evidence import KEPT, standing, with_kept_sentences

BODY = """\
Cold brew steeps for twelve hours. [1] It tastes mild. [2]

| Bean | Hours |
| --- | --- |
| Kenya | 12 |

## Water

So what about the water? Use soft water. [1] [2]

Cold water is best. [2]
"""
CUT = "It keeps for a month."
BEHIND, OPENS, ALONE = CutPlace.BEHIND, CutPlace.OPENS, CutPlace.ALONE


def cut(after: str, place: CutPlace, heading: str = "", text: str = CUT) -> CutSentence:
    return CutSentence(text, heading, ("s1p1",), "words", "no passage says it", "", after, place)


@pytest.mark.parametrize(
    ("after", "place", "heading", "line"),
    [
        pytest.param(
            "Cold brew steeps for twelve hours.",
            BEHIND,
            "",
            f"Cold brew steeps for twelve hours. [1] {CUT} It tastes mild. [2]",
            id="behind a sentence and its citations",
        ),
        pytest.param(
            "So what about the water?",
            BEHIND,
            "Water",
            f"So what about the water? {CUT} Use soft water. [1] [2]",
            id="behind a sentence without citations",
        ),
        pytest.param(
            "Use soft water always.",
            BEHIND,
            "Water",
            f"So what about the water? Use soft water. [1] [2] {CUT}",
            id="behind a sentence that somebody has edited",
        ),
        pytest.param(
            "",
            OPENS,
            "",
            f"{CUT} Cold brew steeps for twelve hours. [1] It tastes mild. [2]",
            id="first of all",
        ),
        pytest.param(
            "It tastes mild.",
            OPENS,
            "Water",
            f"{CUT} So what about the water? Use soft water. [1] [2]",
            id="first of its section",
        ),
        pytest.param(
            "Use soft water.", OPENS, "Water", f"{CUT} Cold water is best. [2]", id="first of its paragraph"
        ),
    ],
)
def test_a_sentence_goes_back_into_its_paragraph(
    after: str, place: CutPlace, heading: str, line: str
) -> None:
    body = put_back(BODY, [cut(after, place, heading)], 1)

    assert line in body.splitlines()
    assert body.replace(f" {CUT}", "").replace(f"{CUT} ", "") == BODY


@pytest.mark.parametrize(
    ("after", "heading", "before", "behind"),
    [
        pytest.param(
            "It tastes mild.", "", "| Kenya | 12 |", "## Water", id="behind the table of the paragraph"
        ),
        pytest.param("It tastes mild.", "Water", "## Water", "So what about", id="the first of its section"),
        pytest.param(
            "It tastes mild.", "Storage", "| Kenya | 12 |", "## Water", id="of a section that was dropped"
        ),
        pytest.param(
            "Use soft water.", "Water", "[1] [2]", "Cold water is best.", id="between two paragraphs"
        ),
        pytest.param("Nothing like it stands.", "", "| Kenya | 12 |", "## Water", id="its neighbour is gone"),
        pytest.param("Nothing like it stands.", "Storage", "is best. [2]", "", id="all around it is gone"),
    ],
)
def test_a_sentence_whose_paragraph_was_cut_gets_one_of_its_own(
    after: str, heading: str, before: str, behind: str
) -> None:
    body = put_back(BODY, [cut(after, ALONE, heading)], 1)

    first, _, rest = body.partition(f"\n\n{CUT}\n")
    assert first.endswith(before)
    assert rest.lstrip().startswith(behind)
    assert body.replace(f"{CUT}\n", "").split() == BODY.split()


@pytest.mark.parametrize("place", CutPlace)
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_sentences_of_one_place_keep_their_order(place: CutPlace, order: tuple[int, int]) -> None:
    cuts = [cut("Use soft water.", place, "Water", f"It is number {each}.") for each in ("one", "two")]
    body = BODY
    for number in order:
        body = put_back(body, cuts, number)
        cuts[number - 1] = replace(cuts[number - 1], kept_by="ann")

    prose = prose_of(body)
    assert prose.index("soft") < prose.index("number one") < prose.index("number two")


@pytest.mark.parametrize(
    "text",
    [
        "1. It is [2] a *list* & <b>bold</b>.",
        "- It costs $5 | £4 at https://example.com.",
        "# `x` is ~1~ \\ {y} ^2!",
        "It says “so” [a](b).",
    ],
)
@pytest.mark.parametrize("place", CutPlace)
def test_a_sentence_stands_as_it_was_written(text: str, place: CutPlace) -> None:
    body = put_back(BODY, [cut("Use soft water.", place, "Water", text)], 1)
    assert text in prose_of(body)


AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
EVIDENCE = ArticleEvidence(
    (KeptSentence("It tastes mild.", "", (2,), ("s2p1",), "held", "rules"),),
    (cut("It tastes mild.", BEHIND), cut("", ALONE, text="It cures all.")),
    {"s2p1": CitedPassage(2, (), "Mild.")},
)


def test_whoever_puts_a_cut_sentence_back_keeps_it_in_their_name() -> None:
    kept_body = put_back(BODY, EVIDENCE.cuts, 1)
    kept = with_kept_sentences(EVIDENCE, BODY, kept_body, by="ann", at=AT)
    edited = with_kept_sentences(kept, kept_body, kept_body.replace("best", "fine"), by="bob", at=AT)
    removed = with_kept_sentences(edited, kept_body, BODY, by="bob", at=AT)

    assert [(each.kept_by, each.kept_at) for each in kept.cuts] == [("ann", AT), ("", None)]
    assert edited == kept, "an edit elsewhere changes nothing"
    assert removed == EVIDENCE
    shown = standing(kept, kept_body).sentences
    assert [(each.text, each.verdict, each.given_by) for each in shown] == [
        ("It tastes mild.", "held", "rules"),
        (CUT, KEPT, "ann"),
    ]
    assert standing(kept, BODY).sentences == EVIDENCE.sentences
