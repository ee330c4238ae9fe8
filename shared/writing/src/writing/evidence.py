"""What the sentences of a stored article rest on, as far as they still stand. Pure."""

from collections.abc import Iterable

from writing.article import ArticleEvidence, KeptSentence
from writing.body import Body, cited_in, prose_of

QUOTED = "quoted"
"""The verdict of a paragraph that is printed as it stands in its source."""
RULES = "rules"
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


def standing(sentences: Iterable[KeptSentence], markdown: str) -> tuple[KeptSentence, ...]:
    """Returns the sentences that an article still has, word for word, after people edited it."""
    prose = prose_of(markdown)
    return tuple(each for each in sentences if each.text in prose)
