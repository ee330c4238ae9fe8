"""An article sentence by sentence: what each rests on, and what a person's change makes of it."""

from writing.article import ArticleEvidence, CitedPassage, CutSentence, KeptSentence
from writing.body import MarkdownBlockKind
from writing.evidence import quoted_evidence
from writing.marked_article import MarkedSentence, mark_article

PASSAGE = "Steep cold brew for twelve hours. It keeps for two weeks in the refrigerator."
EVIDENCE = ArticleEvidence(
    (
        KeptSentence("Cold brew steeps for twelve hours.", "", (1,), ("s1p1",), "held", "rules"),
        KeptSentence("It tastes mild.", "", (1,), ("s1p1",), "confirmed", "judge-1"),
    ),
    (CutSentence("It keeps for a month.", "", ("s1p1",), "not_said", "no", "", kept_by="ann"),),
    {"s1p1": CitedPassage(1, ("Coffee",), PASSAGE)},
)


def sentences(
    markdown: str, evidence: ArticleEvidence = EVIDENCE, language: str = "en"
) -> list[MarkedSentence]:
    return [each for block in mark_article(markdown, evidence, language=language) for each in block.sentences]


def test_each_sentence_has_its_verdict_and_its_place() -> None:
    body = "## Time\n\nCold brew steeps for twelve hours. [1] It tastes mild. [1] It keeps for a month.\n\n- It tastes mild. [1]\n"
    blocks = mark_article(body, EVIDENCE, language="en")
    found = [each for block in blocks for each in block.sentences]

    assert [each.kind for each in blocks] == [
        MarkdownBlockKind.HEADING,
        MarkdownBlockKind.PARAGRAPH,
        MarkdownBlockKind.ITEM,
    ]
    assert [(each.verdict, each.given_by) for each in found] == [
        ("held", "rules"),
        ("confirmed", "judge-1"),
        ("kept", "ann"),
        ("confirmed", "judge-1"),
    ]
    assert [body[each.start : each.end] for each in found] == [each.text for each in found]


def test_a_changed_sentence_is_compared_with_its_passages() -> None:
    held, said, quoted = sentences(
        "Cold brew steeps for thirty hours. [1] It tastes mild. [1]"
        " It keeps for two weeks in the refrigerator. [1]"
    )

    assert (held.verdict, held.given_by, held.sources, held.passages) == ("unsupported", "rules", (1,), ())
    assert held.problem
    assert "twelve hours" in held.nearest
    assert said.verdict == "confirmed"
    assert (quoted.verdict, quoted.passages) == ("quoted", ("s1p1",))


def test_a_number_that_was_changed_inside_a_quotation_is_unsupported() -> None:
    body = "Steep it for 12 hours in the cold. Then pour it off. [1]\n"
    digest = quoted_evidence(body)

    assert [each.verdict for each in sentences(body, digest)] == ["quoted", "quoted"]
    changed = sentences(body.replace("12", "24"), digest)
    assert [each.verdict for each in changed] == ["unsupported", "quoted"]


def test_what_no_rule_can_read_is_unchecked() -> None:
    found = sentences("Kalter Kaffee zieht zwölf Stunden. [1]", language="de")

    assert [(each.verdict, each.sources) for each in found] == [("unchecked", (1,))]


def test_a_long_text_is_bounded() -> None:
    body = "\n\n".join(f"The kettle number {n} boils in {n} minutes at home. [1]" for n in range(100))

    verdicts = [each.verdict for each in sentences(body)]
    assert verdicts.count("unsupported") == 60
    assert verdicts.count("unchecked") == 40
