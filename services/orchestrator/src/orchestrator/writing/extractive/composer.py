"""The deterministic writer: an article made of sentences taken verbatim from the sources, each cited.

It needs no model and no network, and cannot invent: what it prints stood in a source. The same input gives the same
article. Order of work: cut the sources into *units* (runs of sentences that can stand together), drop repetitions,
choose units by relevance and novelty (maximal marginal relevance), then lay them out: definition first, then one
section per source.
"""

import hashlib
from collections.abc import Sequence

from slugify import slugify

from orchestrator.writing.article import MAX_META_DESCRIPTION, Article, Source
from orchestrator.writing.extractive.layout import layout
from orchestrator.writing.extractive.selection import DUPLICATE, Unit, choose, lead_of, openers, units_of
from orchestrator.writing.extractive.sentences import jaccard, shingles
from orchestrator.writing.extractive.topic import Topic, clean

EXTRACTIVE_LABEL = "Extractive digest – no AI model configured"  # noqa: RUF001 - the label's own dash
# With less than this, sentences that name a section or table of their source are better than no article.
SCANT_WORDS = 250
MAX_KEY_POINTS = 5
MAX_KEY_POINT = 240
MAX_SLUG = 80


class NotEnoughMaterialError(ValueError):
    """No sentence of the sources can stand in an article."""


def compose(*, keyword: str, sources: Sequence[Source], brand_name: str, language: str) -> Article:
    """Write the article. `language` is a BCP 47 tag; it chooses the wording of what is not quoted.

    Raises:
        NotEnoughMaterialError: nothing in the sources reads as a sentence on its own.
    """
    keyword = clean(keyword)
    topic = Topic(keyword, sources)
    units = units_of(sources, strict=True)
    if sum(unit.words for unit in units) < SCANT_WORDS:
        units = units_of(sources, strict=False)
    if not units:
        raise NotEnoughMaterialError(f"no sentence of the sources on “{keyword}” can stand in an article")
    lead = lead_of(topic, units)
    chosen = choose(topic, units, lead)
    body = layout(topic, lead, chosen)
    sentences = [sentence for unit in chosen for sentence in unit.sentences]
    title = f"{topic.name}: a sourced overview" if language.casefold().startswith("en") else topic.name
    return Article(
        title=title,
        slug=_slug(keyword),
        meta_description=_meta_description(topic, lead, chosen, brand_name=clean(brand_name)),
        body_markdown=body,
        word_count=sum(sentence.words for sentence in sentences),
        key_points=_key_points(topic, chosen),
        cited=tuple(sorted({unit.source.n for unit in chosen})),
        label=EXTRACTIVE_LABEL,
    )


def _key_points(topic: Topic, chosen: Sequence[Unit]) -> tuple[str, ...]:
    """Up to five sentences that stand alone, the definition foremost."""
    ranked = sorted(
        (
            -topic.definition(text),
            _is_dull(text),
            -topic.has_phrase(text),
            -topic.share(text),
            at > 0,
            index,
            at,
        )
        for index, unit in enumerate(chosen)
        for at, text in ((at, sentence.text) for at, sentence in openers(unit))
        if len(text) <= MAX_KEY_POINT
    )
    points: list[tuple[int, int]] = []
    for *_, index, at in ranked:
        own = shingles(chosen[index].sentences[at].text)
        if all(jaccard(own, shingles(chosen[i].sentences[a].text)) < DUPLICATE for i, a in points):
            points.append((index, at))
    if len(points) < 3:  # noqa: PLR2004 - fewer than three points make no list: take long ones as well
        points += [
            (index, at)
            for index, unit in enumerate(chosen)
            for at, _ in openers(unit)
            if (index, at) not in points
        ]
    return tuple(chosen[index].sentences[at].text for index, at in points[:MAX_KEY_POINTS])


def _is_dull(text: str) -> bool:
    """Whether it only announces a list, as “There are several limits.” does, or speaks in identifiers."""
    return text.startswith(("There is ", "There are ")) or "_" in text


def _meta_description(topic: Topic, lead: Unit, chosen: Sequence[Unit], *, brand_name: str) -> str:
    """One or two whole sentences of the article; a plain statement of what it is if all of them are too long."""
    alone = [sentence.text for unit in chosen for _, sentence in openers(unit)]
    telling = sorted(
        (text for text in alone if len(text) <= MAX_META_DESCRIPTION and topic.share(text) > 0),
        key=lambda text: (
            -topic.definition(text),
            _is_dull(text),
            -topic.has_phrase(text),
            -topic.share(text),
            alone.index(text),
        ),
    )
    if not telling:
        return _plain_description(topic, chosen, brand_name=brand_name)
    first = telling[0]
    room = MAX_META_DESCRIPTION - len(first) - 1
    opening = [sentence.text for _, sentence in openers(lead)]
    second = next(
        (text for text in opening if text != first and first in opening and len(text) <= room), None
    )
    return f"{first} {second}" if second else first


def _plain_description(topic: Topic, chosen: Sequence[Unit], *, brand_name: str) -> str:
    sources = len({unit.source.n for unit in chosen})
    wordings = (
        f"{topic.name}: a digest of {sources} sources by {brand_name}.",
        f"{topic.name}: a digest of {sources} sources.",
        f"A digest of {sources} sources, sentence by sentence.",
    )
    return next(text for text in wordings if len(text) <= MAX_META_DESCRIPTION)


def _slug(keyword: str) -> str:
    slug = slugify(keyword, max_length=MAX_SLUG, word_boundary=True)
    # An emoji or punctuation leaves nothing of a slug; the digest keeps the address stable.
    return slug or f"article-{hashlib.sha256(keyword.encode()).hexdigest()[:8]}"
