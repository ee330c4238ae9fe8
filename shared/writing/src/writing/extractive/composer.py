"""Composes an article from whole paragraphs, lists, listings and tables of the sources, each cited.

It needs no model and no network, and cannot invent: everything it prints is from a source. The same input gives the
same article. Order of work: cut the sources into *units* that make sense on their own, find the one that opens the
article, choose others by relevance and novelty (maximal marginal relevance), lay them out, and check the result.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import date

from slugify import slugify

from writing.article import MAX_META_DESCRIPTION, MIN_WORDS, Article, ArticleSource
from writing.extractive.headings import cut, title_of
from writing.extractive.layout import LayoutSection, markdown, sections_of
from writing.extractive.selection import DUPLICATE, choose, choose_lead
from writing.extractive.sentences import jaccard, shingles
from writing.extractive.topic import Topic, clean
from writing.extractive.units import Unit, units_of
from writing.quality import count_independent
from writing.writer import InsufficientSourcesError

EXTRACTIVE_LABEL = (
    "How this was made: a digest that a program put together from paragraphs of the sources below, word for word."
    " No person has reviewed it."
)
"""A note for readers."""
_ADVICE = ". Add documents on the topic to what research reads, or choose another keyword."
MIN_KEY_POINTS = 3
MAX_KEY_POINTS = 5
MAX_KEY_POINT = 240
MAX_SLUG = 80
# A capital within a sentence.
_CAPITALISED = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]*")


def compose(
    *, keyword: str, sources: Sequence[ArticleSource], language: str, today: date, min_sources: int
) -> Article:
    """Writes the article. `language` is a BCP 47 tag: text in another language is not quoted. `today` dates the sources.

    Raises:
        InsufficientSourcesError: no source says what the keyword is, or less than 250 words of three independent sources
            can be quoted.
    """
    offered, sources = sources, [source for source in sources if source.quotable]
    _demand_quotable(offered, sources, min_sources)
    keyword = clean(keyword)
    topic = Topic(keyword, sources)
    units = units_of(sources, topic, language=language, today=today)
    if not units:
        raise InsufficientSourcesError(
            f"no paragraph of the {len(sources)} sources on “{keyword}” makes sense by itself in the brand's"
            f" language ({language}){_ADVICE}"
        )
    lead = choose_lead(topic, units)
    if lead is None:
        raise InsufficientSourcesError(
            f"none of the {len(sources)} sources says what “{keyword}” is{_ADVICE}"
        )
    chosen = choose(topic, units, lead, today=today)
    _demand_enough(keyword, chosen, min_sources)
    english = language.casefold().partition("-")[0] == "en"
    sections = sections_of(topic, lead, chosen, more=f"More on {topic.word}" if english else topic.name)
    return Article(
        title=_title(topic, sections, sources, language),
        slug=_slug(keyword),
        meta_description=_meta_description(topic, lead, chosen),
        body_markdown=markdown(sections),
        word_count=sum(unit.words for unit in chosen),
        key_points=_key_points(topic, chosen),
        cited=tuple(sorted({unit.source.n for unit in chosen})),
        label=EXTRACTIVE_LABEL,
    )


def _demand_quotable(
    offered: Sequence[ArticleSource], quotable: Sequence[ArticleSource], min_sources: int
) -> None:
    if len(quotable) < len(offered) and count_independent(quotable) < min_sources:
        raise InsufficientSourcesError(
            f"only {len(quotable)} of the {len(offered)} sources may be quoted by the paragraph: a digest prints what was given"
            " to research in its folder, what is freely licensed as it says itself, and what is the brand's own: documents"
            " (`brandctl documents add FILE --brand BRAND --own`) and hosts (`brandctl sources set BRAND --own HOST`). A brand with a writer that uses a model may use all of them"
        )


def _demand_enough(keyword: str, chosen: Sequence[Unit], min_sources: int) -> None:
    words = sum(unit.words for unit in chosen)
    cited = {unit.source.n: unit.source for unit in chosen}
    # In the order in which the judge uses the same values.
    found = count_independent([cited[n] for n in sorted(cited)])
    if words < MIN_WORDS or found < min_sources:
        raise InsufficientSourcesError(
            f"what the sources say about “{keyword}” in paragraphs that make sense by themselves comes to {words} words of"
            f" {found} independent {'source' if found == 1 else 'sources'}; an article has at least {MIN_WORDS} words of"
            f" {min_sources}{_ADVICE}"
        )


def _title(
    topic: Topic, sections: Sequence[LayoutSection], sources: Sequence[ArticleSource], language: str
) -> str:
    headings = [section.heading for section in sections[1:] if section.heading]
    texts = (passage.text for source in sources for passage in source.passages)
    proper = frozenset(word for text in texts for word in _CAPITALISED.findall(text))
    return title_of(topic.name, headings, proper=proper, language=language)


def _key_points(topic: Topic, chosen: Sequence[Unit]) -> tuple[str, ...]:
    """Returns up to five sentences that make sense alone, the definition first."""
    ranked = sorted(
        (*_interest(topic, text), at > 0, index, at)
        for index, unit in enumerate(chosen)
        for at, text in enumerate(unit.alone)
        if len(text) <= MAX_KEY_POINT
    )
    points: list[str] = []
    for *_, index, at in ranked:
        if len(points) == MAX_KEY_POINTS:
            break
        text = chosen[index].alone[at]
        if all(jaccard(shingles(text), shingles(point)) < DUPLICATE for point in points):
            points.append(text)
    # Fewer than three points make no list: use long ones as well.
    spare = [text for unit in chosen for text in unit.alone if text not in points]
    points += spare[: max(0, MIN_KEY_POINTS - len(points))]
    return tuple(points[:MAX_KEY_POINTS])


def _interest(topic: Topic, text: str) -> tuple[float, bool, bool, float]:
    """Returns a sort key that puts the sentences with the most about the keyword first."""
    return -topic.definition(text), _is_dull(text), not topic.has_phrase(text), -topic.share(text)


def _is_dull(text: str) -> bool:
    """Whether a sentence only announces a list, as “There are several limits.” does, or consists of identifiers."""
    return text.startswith(("There is ", "There are ")) or "_" in text


def _meta_description(topic: Topic, lead: Unit, chosen: Sequence[Unit]) -> str:
    """Returns one or two whole sentences of the article, or the beginning of its first one if all are too long."""
    alone = [text for unit in chosen for text in unit.alone]
    telling = sorted(
        (text for text in alone if len(text) <= MAX_META_DESCRIPTION and topic.share(text) > 0),
        key=lambda text: (*_interest(topic, text), alone.index(text)),
    )
    if not telling:
        return cut(lead.opening.rstrip(":"), MAX_META_DESCRIPTION)
    first = telling[0]
    room = MAX_META_DESCRIPTION - len(first) - 1
    second = next(
        (text for text in lead.alone if text != first and first in lead.alone and len(text) <= room), None
    )
    return f"{first} {second}" if second else first


def _slug(keyword: str) -> str:
    slug = slugify(keyword, max_length=MAX_SLUG, word_boundary=True)
    # Emoji or punctuation leave an empty slug; the digest keeps the address stable.
    return slug or f"article-{hashlib.sha256(keyword.encode()).hexdigest()[:8]}"
