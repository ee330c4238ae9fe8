"""The measures of an article, and the bounds of each. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from documents.source_minimum import MIN_SHOWN_WORDS
from documents.words import words_of
from writing.article import MAX_META_DESCRIPTION, MAX_TITLE, MIN_WORDS, Article, BrandWishes
from writing.body import Body, MarkdownSection
from writing.quality.likeness import Runs, jaccard, runs_of

OPENING: Final = 0.6
"""The least share of the keyword's words in the first paragraph."""
NEAR_DUPLICATE: Final = 0.67
"""The share of runs of three words in common with one other article from which an article adds too little."""
REPEATED: Final = 0.6
"""The share of common runs of three words from which two sentences count as a repetition."""
MAX_READABILITY: Final = 70.0
"""LIX; above 60 is very hard to read, less so in languages of long words."""
TOO_SHORT: Final = 2 / 3
TOO_LONG: Final = 1.5
"""A multiple of the requested length."""
MAX_HEADING: Final = 70
MAX_DROPPED: Final = 0.5
MAX_COPIED: Final = 1 / 3
_LONG_WORD: Final = 6
_SHORT_WORD: Final = 3
_WHOLE: Final = 5
_STEM: Final = 0.7
_NAMES: Final = 40
_HOLDS_TOGETHER: Final = frozenset(
    "about best does from good have into make that their there these this what when where which with work works your".split()  # noqa: SIM905
)
_TELLS_NOTHING: Final = frozenset(
    "introduction overview summary conclusion conclusions background details description more misc miscellaneous other"  # noqa: SIM905
    " general notes section text content contents untitled".split()
)
_ADDRESS: Final = re.compile(r"https?://|www\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MeasureBounds:
    """The bounds that depend on the writer: quoted texts are as long as their authors made them."""

    mean_sentence: float
    longest_paragraph: int
    fewest_words: int
    repeated: float
    """The largest share of sentences that may repeat one of another section."""
    title_opens: bool = False
    """Whether the title may have the keyword's words instead of the first paragraph."""


WRITTEN: Final = MeasureBounds(mean_sentence=26, longest_paragraph=140, fewest_words=MIN_WORDS, repeated=0.05)
QUOTED: Final = MeasureBounds(
    mean_sentence=40, longest_paragraph=240, fewest_words=MIN_SHOWN_WORDS, repeated=0.4, title_opens=True
)


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure, with the bounds `least` and `most` if it has them."""

    name: str
    value: float
    shown: str
    """The value, formatted for people."""
    least: float | None = None
    most: float | None = None
    problem: str | None = None
    """The complaint, for people; None if the value is within its bounds."""


@dataclass(frozen=True, slots=True)
class NearestArticle:
    """The brand's article that shares most with this one."""

    title: str
    address: str
    share: float
    content_id: UUID | None = None
    is_published: bool = False


def measure(
    article: Article,
    *,
    keyword: str,
    sources: int,
    wishes: BrandWishes,
    nearest: NearestArticle | None,
    bounds: MeasureBounds,
    asked: int | None = None,
    body: Body | None = None,
) -> tuple[Measure, ...]:
    """Measures an article.

    Args:
        article: as its writer left it.
        keyword: its requested subject.
        sources: the number of independent sources that it cites.
        wishes: the brand's, for its articles.
        nearest: the most similar article of the brand; None if it has no others.
        bounds: for its kind of writer.
        asked: the length in words that the brand wants.
        body: the parsed article, if the caller has it.
    """
    sections = (body or Body(article.body_markdown)).sections
    sentences = [section.sentences for section in sections]
    words = [[words_of(sentence) for sentence in each] for each in sentences]
    return (
        _opening(keyword, sections, article.title if bounds.title_opens else None),
        _words(article.word_count, asked, bounds.fewest_words),
        _sources(sources, wishes.min_sources),
        _sentences(sentences, bounds),
        _paragraphs(sections, bounds),
        _headings(sections),
        _repetition(words, bounds.repeated),
        _readability(words),
        likeness_measure(nearest),
        _line("title", article.title, MAX_TITLE),
        _line("description", article.meta_description, MAX_META_DESCRIPTION),
        _forbidden(article, sections, wishes.forbidden_words),
        *_draft(article),
    )


def problems(measures: Sequence[Measure]) -> tuple[str, ...]:
    return tuple(each.problem for each in measures if each.problem is not None)


def likeness_measure(nearest: NearestArticle | None) -> Measure:
    if nearest is None:
        return Measure("likeness", 0.0, "the brand's first article", most=NEAR_DUPLICATE)
    shown = f"{nearest.share:.0%} of it stands in “{nearest.title}”"
    too_near = nearest.share >= NEAR_DUPLICATE
    return Measure(
        "likeness",
        round(nearest.share, 3),
        shown,
        most=NEAR_DUPLICATE,
        problem=f"{shown} already ({nearest.address})" if too_near else None,
    )


def _opening(keyword: str, sections: Sequence[MarkdownSection], title: str | None) -> Measure:
    """A page that is quoted need not repeat its `title` in its first paragraph."""
    opening = sections[0].paragraphs[0].shown.text if sections and sections[0].paragraphs else ""
    wanted, said = _weighing(keyword), {*words_of(opening), *words_of(title or "")}
    found = sum(any(_same(word, other) for other in said) for word in wanted)
    share = found / len(wanted) if wanted else 1.0
    return Measure(
        "opening",
        round(share, 3),
        f"{found} of the keyword's {len(wanted)} words",
        least=OPENING,
        problem=None if share >= OPENING else f"the first paragraph does not speak of “{keyword}”",
    )


def _weighing(keyword: str) -> list[str]:
    """Returns the keyword's words without function words, which are short in most languages."""
    words = list(dict.fromkeys(words_of(keyword)))
    return [word for word in words if len(word) > _SHORT_WORD and word not in _HOLDS_TOGETHER] or words


def _same(one: str, other: str) -> bool:
    """Whether two words begin alike, as forms of one word do."""
    shorter = min(len(one), len(other))
    begin = shorter if shorter <= _WHOLE else round(_STEM * shorter)
    return one[:begin] == other[:begin]


def _words(words: int, asked: int | None, fewest: int) -> Measure:
    least, most = fewest, None
    if asked is not None:
        least, most = max(fewest, round(TOO_SHORT * asked)), round(TOO_LONG * asked)
    problem = None
    if words < least:
        problem = f"{words} words, of at least {least}"
    elif most is not None and words > most:
        problem = f"{words} words, of at most {most}"
    shown = f"{words}" if asked is None else f"{words}, asked for {asked}"
    return Measure("words", words, shown, least=least, most=most, problem=problem)


def _sources(sources: int, least: int) -> Measure:
    problem = f"{sources} independent sources, of at least {least}" if sources < least else None
    return Measure("sources", sources, f"{sources}", least=least, problem=problem)


def _sentences(sections: Sequence[Sequence[str]], bounds: MeasureBounds) -> Measure:
    lengths = [len(sentence.split()) for section in sections for sentence in section]
    mean = round(sum(lengths) / max(1, len(lengths)), 1)
    return Measure(
        "sentences",
        mean,
        f"{mean} words on the average",
        most=bounds.mean_sentence,
        problem=f"its sentences have {mean} words on the average, at most {bounds.mean_sentence:g} are readable"
        if mean > bounds.mean_sentence
        else None,
    )


def _paragraphs(sections: Sequence[MarkdownSection], bounds: MeasureBounds) -> Measure:
    lengths = [len(each.shown.text.split()) for section in sections for each in section.paragraphs]
    longest = max(lengths, default=0)
    return Measure(
        "paragraphs",
        longest,
        f"{longest} words in the longest",
        most=bounds.longest_paragraph,
        problem=f"a paragraph of {longest} words, of at most {bounds.longest_paragraph}"
        if longest > bounds.longest_paragraph
        else None,
    )


def _headings(sections: Sequence[MarkdownSection]) -> Measure:
    headings = [section.heading for section in sections if section.heading is not None]
    weak = [why for at, heading in enumerate(headings) if (why := heading_problem(heading, headings[:at]))]
    return Measure(
        "headings",
        len(weak),
        f"{len(weak)} of {len(headings)} say nothing",
        most=0,
        problem="; ".join(weak) or None,
    )


def heading_problem(heading: str, before: Sequence[str]) -> str | None:
    """Returns the complaint about a heading that follows the headings `before`, for people; None if it is a good one."""
    words = words_of(heading)
    named = f"the heading “{heading[:_NAMES]}”"
    if not words:
        return f"{named} has no word" if heading else "a heading is empty"
    if len(heading) > MAX_HEADING:
        return f"{named}… has {len(heading)} characters, of at most {MAX_HEADING}"
    if _TELLS_NOTHING.issuperset(words):
        return f"{named} says nothing"
    if _ADDRESS.search(heading):
        return f"{named} is an address"
    if words in [words_of(other) for other in before]:
        return f"{named} stands twice"
    return None


def _repetition(sections: Sequence[Sequence[Sequence[str]]], most: float) -> Measure:
    """Measures repetition; `sections` holds sentences, and these their words."""
    repeated = total = 0
    before: list[Runs] = []
    runs_before: set[tuple[str, ...]] = set()
    for section in sections:
        said = [runs_of(words) for words in section]
        # Most sentences share no run with any other, which one set tells faster than pairs.
        known = [each for each in said if not runs_before.isdisjoint(each)]
        repeated += sum(any(jaccard(each, other) >= REPEATED for other in before) for each in known)
        before += said
        runs_before.update(*said)
        total += len(said)
    share = round(repeated / max(1, total), 3)
    return Measure(
        "repetition",
        share,
        f"{repeated} of {total} sentences",
        most=most,
        problem=f"{repeated} of {total} sentences repeat what another section says" if share > most else None,
    )


def _readability(sections: Sequence[Sequence[Sequence[str]]]) -> Measure:
    """LIX: the mean words per sentence, plus the percentage of words with more than six letters (Björnsson 1968)."""
    sentences = [words for section in sections for words in section]
    words = [word for sentence in sentences for word in sentence]
    lengthy = sum(len(word) > _LONG_WORD for word in words)
    lix = round(len(words) / len(sentences) + 100 * lengthy / len(words), 1) if words else 0.0
    return Measure(
        "readability",
        lix,
        f"LIX {lix}",
        most=MAX_READABILITY,
        problem=f"it is hard to read (LIX {lix}, of at most {MAX_READABILITY:g}): shorter sentences, shorter words"
        if lix > MAX_READABILITY
        else None,
    )


def _line(name: str, text: str, most: int) -> Measure:
    problem = None
    if not text.strip():
        problem = f"it has no {name}"
    elif len(text) > most:
        problem = f"a {name} of {len(text)} characters, of at most {most}"
    return Measure(name, len(text), f"{len(text)} characters", least=1, most=most, problem=problem)


def _forbidden(article: Article, sections: Sequence[MarkdownSection], forbidden: Sequence[str]) -> Measure:
    printed = [article.title, article.meta_description, *article.key_points]
    for section in sections:
        printed += [section.heading or "", *(each.shown.text for each in section.paragraphs)]
    text = "\n".join(printed).casefold()
    found = [word for word in forbidden if re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", text)]
    return Measure(
        "forbidden",
        len(found),
        f"{len(found)} of {len(forbidden)} words",
        most=0,
        problem=f"it has {', '.join(found)}, which the brand does without" if found else None,
    )


def _draft(article: Article) -> Iterator[Measure]:
    """Yields the measures of a model's draft."""
    if (draft := article.draft) is None:
        return
    dropped = round(draft.dropped / max(1, draft.sentences), 3)
    yield Measure(
        "dropped",
        dropped,
        f"{draft.dropped} of {draft.sentences} sentences",
        most=MAX_DROPPED,
        problem=f"{draft.dropped} of {draft.sentences} sentences did not hold and were dropped"
        if dropped > MAX_DROPPED
        else None,
    )
    yield Measure(
        "copied",
        round(draft.copied, 3),
        f"{draft.copied:.0%} of its words",
        most=round(MAX_COPIED, 3),
        problem=f"{draft.copied:.0%} of it is copied from its sources word by word"
        if draft.copied > MAX_COPIED
        else None,
    )
    if draft.confirmed is not None:
        left = draft.sentences - draft.dropped
        yield Measure("confirmed", draft.confirmed, f"{draft.confirmed} of {left} sentences by the judge")
