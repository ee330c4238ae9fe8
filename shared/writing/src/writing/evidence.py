"""The evidence for the sentences of a stored article that are unchanged. Pure."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from writing.article import ArticleEvidence, KeptSentence
from writing.body import Body, cited_in, prose_of

QUOTED: Final = "quoted"
"""The verdict of a paragraph that is printed as it stands in its source."""
KEPT: Final = "kept"
"""The verdict of a sentence that was cut, and that an editor keeps in their own name."""
RULES: Final = "rules"
"""Who gave a verdict that no model gave."""


def quoted_evidence(markdown: str) -> ArticleEvidence:
    """Returns the evidence of a digest: each of its paragraphs and items is what the cited source says."""
    return ArticleEvidence(
        tuple(
            KeptSentence(
                block.shown.text,
                section.heading or "",
                cited_in(block.markdown[block.start : block.end]),
                (),
                QUOTED,
                RULES,
            )
            for section in Body(markdown).sections
            for block in section.paragraphs
        ),
        (),
        {},
    )


def standing(evidence: ArticleEvidence, markdown: str) -> ArticleEvidence:
    """Returns the evidence of the sentences that an article has, word for word, those that editors keep included."""
    prose = prose_of(markdown)
    kept = (
        KeptSentence(each.text, each.heading, (), each.passages, KEPT, each.kept_by)
        for each in evidence.cuts
        if each.kept_by
    )
    places = {each: prose.find(each.text) for each in (*evidence.sentences, *kept)}
    sentences = sorted((each for each, place in places.items() if place >= 0), key=lambda each: places[each])
    return replace(evidence, sentences=tuple(sentences))


def with_kept_sentences(
    evidence: ArticleEvidence, before: str, after: str, *, by: str, at: datetime
) -> ArticleEvidence:
    """Returns the evidence after an edit: the editor keeps the cut sentences that the edit puts back, word for word.

    Those that it takes out are cut again. `before` and `after` are the bodies.
    """
    had, has = prose_of(before), prose_of(after)
    cuts = []
    for each in evidence.cuts:
        if each.text not in has:
            each = replace(each, kept_by="", kept_at=None)  # noqa: PLW2901
        elif each.text not in had:
            each = replace(each, kept_by=by, kept_at=at)  # noqa: PLW2901
        cuts.append(each)
    return replace(evidence, cuts=tuple(cuts))
