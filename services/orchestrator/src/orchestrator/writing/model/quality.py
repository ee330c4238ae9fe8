"""How good an article is, as far as it can be counted. Pure.

Each measure is a fact about the text and a bound; a text within all bounds may still be dull.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.writing.article import MAX_META_DESCRIPTION
from orchestrator.writing.desk import Earlier
from orchestrator.writing.model.wording import plain_words, tokens_of

MAX_TITLE: Final = 60
MIN_WORDS: Final = 250
MIN_SOURCES: Final = 3
MEAN_SENTENCE: Final = 26
"""Words of a sentence, on the average, at most."""
LONGEST_PARAGRAPH: Final = 140
REPEATED: Final = 0.6
"""Of the runs of three words of two sentences, so many alike: the second says the same again."""
NEAR_DUPLICATE: Final = 0.5
"""The same of two articles."""
_RUN: Final = 3
_CITATION: Final = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Measure:
    """`value` as people read it; `problem` if it is out of bounds."""

    name: str
    value: str
    problem: str | None = None


def whole_words(text: str, limit: int) -> str:
    """The text, cut after a whole word if it is longer than `limit` characters, with an ellipsis that counts."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rsplit(' ', 1)[0].rstrip(' ,;:–—-')}…"  # noqa: RUF001


def alike(one: str, other: str) -> float:
    """Jaccard index of the runs of three words of two texts, without their citations."""
    ours, theirs = _shingles(one), _shingles(other)
    union = len(ours | theirs)
    return len(ours & theirs) / union if union else 0.0


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = plain_words(_CITATION.sub("", text))
    return frozenset(tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1)))


def answers(keyword: str, paragraph: str) -> bool:
    """Whether each word of the keyword that weighs stands in the paragraph."""
    wanted = {token.key for token in tokens_of(keyword) if token.weighs}
    return wanted <= {token.key for token in tokens_of(paragraph)}


def measures(
    *,
    keyword: str,
    title: str,
    description: str,
    sections: Sequence[Sequence[Sequence[str]]],
    sources: int,
    earlier: Sequence[Earlier],
) -> tuple[Measure, ...]:
    """What can be said of an article in numbers. `sections` are paragraphs of sentences, without citations."""
    paragraphs = [paragraph for section in sections for paragraph in section]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    text = " ".join(sentences)
    words = len(text.split())
    mean = words / max(1, len(sentences))
    longest = max((len(" ".join(paragraph).split()) for paragraph in paragraphs), default=0)
    opening = " ".join(paragraphs[0]) if paragraphs else ""
    nearest = max(
        ((alike(text, each.body_markdown), each) for each in earlier), key=lambda each: each[0], default=None
    )
    return (
        _measure(
            "opening",
            answers(keyword, opening),
            "names the keyword",
            f"the first paragraph does not speak of “{keyword}”",
        ),
        _measure("length", words >= MIN_WORDS, f"{words} words", f"{words} words, of at least {MIN_WORDS}"),
        _measure(
            "sources",
            sources >= MIN_SOURCES,
            f"{sources}",
            f"{sources} sources cited, of at least {MIN_SOURCES}",
        ),
        _measure(
            "sentences", mean <= MEAN_SENTENCE, f"{mean:.1f} words each", f"{mean:.1f} words to a sentence"
        ),
        _measure(
            "paragraphs",
            longest <= LONGEST_PARAGRAPH,
            f"{longest} words at most",
            f"a paragraph of {longest} words",
        ),
        _measure(
            "title",
            len(title) <= MAX_TITLE,
            f"{len(title)} characters",
            f"a title of {len(title)} characters",
        ),
        _measure(
            "description",
            len(description) <= MAX_META_DESCRIPTION,
            f"{len(description)} characters",
            f"a description of {len(description)} characters",
        ),
        Measure("likeness", "no earlier article")
        if nearest is None
        else _measure(
            "likeness",
            nearest[0] < NEAR_DUPLICATE,
            f"{nearest[0]:.0%} of “{nearest[1].title}”",
            f"says what “{nearest[1].title}” says already ({nearest[1].address})",
        ),
    )


def _measure(name: str, good: bool, value: str, problem: str) -> Measure:
    return Measure(name, value, None if good else problem)
