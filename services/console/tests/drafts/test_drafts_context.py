"""A sentence beside its passage: marked where the stored source has it, and nowhere else."""

from typing import Any

from console.drafts.context import sentence_evidence

SECTION = {
    "title": "Storage",
    "level": 2,
    "blocks": [
        {"p": "Coffee is kept cold."},
        {"p": "It keeps for two weeks in the refrigerator. It must be closed."},
        {"ul": [[{"p": "Use glass."}], [{"p": "Label the bottle."}]]},
        {"table": [["Cold", "14 days"]], "head": ["Place", "Time"], "caption": "How long"},
        {"code": ["rm -rf /"]},
    ],
    "children": [
        {
            "title": "Bottles",
            "level": 3,
            "blocks": [{"note": [{"p": "Boil them first."}], "title": "Note"}],
            "children": [],
        }
    ],
}
RESEARCH = {
    "sources": [
        {"n": 1, "title": "Steeping", "url": "javascript:alert(1)", "path": None, "titles_above": ["Coffee"], "section": SECTION, "passages": []},
        {"n": 2, "title": "Ratios", "url": "https://example.org/r", "path": None, "section": None,
         "passages": [{"heading": "Ratio", "text": "One part to eight.\n\n•\tWeigh it first.", "score": 1, "flags": []}]},
    ]
}  # fmt: skip
PASSAGES = {
    "s1p1": {"n": 1, "titles": ["Coffee", "Storage"], "text": "It keeps for two weeks in the refrigerator. It must be closed.\n\nUse glass."},
    "s1p2": {"n": 1, "titles": ["Coffee", "Storage"], "text": "It keeps for a month."},
    "s1p3": {"n": 1, "titles": ["Coffee", "Storage"], "text": "Place: Cold; Time: 14 days."},
}  # fmt: skip


def marked(**sentence: Any) -> dict[str, Any]:
    whole = {
        "text": "It keeps for two weeks in the refrigerator.",
        "verdict": "held",
        "given_by": "rules",
        "sources": [1],
        "passages": [],
        "problem": "",
        "nearest": "",
        **sentence,
    }
    return {"blocks": [{"sentences": []}, {"sentences": [whole]}], "passages": PASSAGES}


def test_a_passage_is_marked_within_its_context() -> None:
    found = sentence_evidence(marked(passages=["s1p1"]), 1, RESEARCH, [])

    assert found is not None
    (passage,) = found.passages
    assert passage.is_found
    assert passage.headings == ("Coffee", "Storage")
    assert [(each.is_passage, "".join(run.text for run in each.runs)) for each in passage.paragraphs] == [
        (False, "Coffee is kept cold."),
        (True, "It keeps for two weeks in the refrigerator. It must be closed."),
        (True, "Use glass."),
        (False, "Label the bottle."),
        (False, "How long"),
    ]
    assert [run.text for run in passage.paragraphs[1].runs if run.is_marked] == [
        "It keeps for two weeks in the refrigerator."
    ]
    assert passage.url is None, "an address that is none of the web's is no link"


def test_a_passage_that_is_not_in_the_source_is_shown_without_a_mark() -> None:
    gone = sentence_evidence(marked(passages=["s1p2"]), 1, RESEARCH, [])
    no_research = sentence_evidence(marked(passages=["s1p1"]), 1, None, [{"n": 1, "title": "Steeping"}])

    for found in (gone, no_research):
        assert found is not None
        assert not found.passages[0].is_found
        assert not any(run.is_marked for each in found.passages[0].paragraphs for run in each.runs)


def test_rows_of_tables_are_found_as_the_writer_reads_them() -> None:
    found = sentence_evidence(marked(passages=["s1p3"]), 1, RESEARCH, [])

    assert found is not None
    assert found.passages[0].is_found


def test_a_quoted_sentence_is_found_in_its_source() -> None:
    found = sentence_evidence(marked(text="Weigh it first.", verdict="quoted", sources=[2]), 1, RESEARCH, [])
    lost = sentence_evidence(marked(text="Weigh it twice.", verdict="quoted", sources=[2]), 1, RESEARCH, [])

    assert found is not None
    assert found.passages[0].is_found
    assert found.passages[0].url == "https://example.org/r"
    assert lost is not None
    assert (lost.passages[0].is_found, lost.passages[0].paragraphs) == (False, ())


def test_an_article_has_no_other_sentences() -> None:
    assert sentence_evidence(marked(), 0, RESEARCH, []) is None
    assert sentence_evidence(marked(), 2, RESEARCH, []) is None
