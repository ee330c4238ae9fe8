"""The decision whether a corpus can answer a keyword, and with which sources. Pure."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from research.domain import MIN_SOURCES, Candidate, Findings, Found, Insufficient, RankedPassage, Source
from research.ranking.near_duplicates import Shingles, are_one_text, shingles
from research.ranking.passages import Hits, Scored, by_abbreviation, in_other_words, merged, scored_passages
from research.ranking.relevance import Query

MAX_SOURCES = 8
MAX_PASSAGES_PER_SOURCE = 6
# Of the web: more than that, and an article would be one site's.
MAX_SOURCES_PER_HOST = 2

# A one-word keyword that neither title nor heading names must at least be used repeatedly in the document.
MIN_LONE_USES = 2
# A document without the keyword's own wording needs at least this many passages about it.
MIN_UNANCHORED_PASSAGES = 2
# A source counts when its best passage reaches this part of the leader's; what is far below is noise that only
# shares vocabulary.
MIN_RELATIVE_SCORE = 0.3
# What a title that consists of the keyword alone adds to a document's weight of 1.
NAMED_BONUS = 1.5
DEFINED_SHARE = 0.8
# What changed in one version is a poor source on what a thing is.
NEWS_DISCOUNT = 0.4

_NEWS = re.compile(
    r"\b(?:what[’']?s new|release notes?|change ?log|changes (?:in|since)|news)\b",  # noqa: RUF001
    re.IGNORECASE,
)


def decide(
    query: Query,
    candidates: Sequence[Candidate],
    named_by: Hits | None = None,
    *,
    looked_in: str = "The corpus",
) -> Findings:
    """Rank the candidates and refuse when fewer than `MIN_SOURCES` documents really treat the keyword.

    `named_by` is the look-up of the keyword's abbreviation; of its candidates only those count whose title or
    heading carries it, because abbreviations are ambiguous. `looked_in` begins the sentence that a refusal is.
    """
    if not query.terms:
        return Insufficient(f"The keyword “{query.keyword}” has no searchable words; use more specific ones.")
    scored = in_other_words(query, candidates, scored_passages(query, candidates))
    if named_by is not None:
        scored = merged(scored, by_abbreviation(named_by))
    sources = _best_sources(query, scored)
    if len(sources) < MIN_SOURCES:
        return Insufficient(_shortage(query, len(sources), looked_in))
    return Found(tuple(sources))


def _shortage(query: Query, found: int, looked_in: str) -> str:
    unknown = [term for term in query.terms if term.frequency == 0]
    if len(unknown) == len(query.lexemes):
        because = "none of its words occurs there"
    elif found == 0:
        because = "no document treats it, only single words of it occur"
    else:
        because = (
            f"only {found} {'document treats' if found == 1 else 'documents treat'} it (copies count once)"
        )
    return (
        f"{looked_in} has too little about “{query.keyword}”: {because}, and an article needs at least "
        f"{MIN_SOURCES} sources. Add documents on the topic or choose another keyword."
    )


def _best_sources(query: Query, scored: Sequence[Scored]) -> list[Source]:
    by_document: dict[int, list[Scored]] = {}
    for each in scored:
        by_document.setdefault(each.candidate.document_id, []).append(each)
    ranked = sorted(
        (passages for passages in by_document.values() if _counts(query, passages)),
        key=lambda passages: (-_document_score(passages), _place(passages[0].candidate)),
    )
    if not any(each.anchored for passages in ranked for each in passages):
        # Both words of "time management" stand close together on some pages of a database manual, by chance.
        return []
    floor = MIN_RELATIVE_SCORE * max(each.score for each in ranked[0])
    good = [passages for passages in ranked if max(each.score for each in passages) >= floor]
    return [_source(passages) for passages in _independent(good)]


def _independent(ranked: Sequence[Sequence[Scored]]) -> list[Sequence[Scored]]:
    """The best of them that do not say the same in the same words, of many hosts; as many as an article can use."""
    chosen: list[tuple[Sequence[Scored], Shingles]] = []
    hosts: Counter[str | None] = Counter()
    for passages in ranked:
        host = passages[0].candidate.host
        if host is not None and hosts[host] == MAX_SOURCES_PER_HOST:
            continue
        words = shingles(each.candidate.passage.text for each in passages)
        if not any(are_one_text(words, others) for _, others in chosen):
            chosen.append((passages, words))
            hosts[host] += 1
        if len(chosen) == MAX_SOURCES:
            break
    return [passages for passages, _ in chosen]


def _counts(query: Query, passages: Sequence[Scored]) -> bool:
    if len(query.lexemes) == 1 and not any(each.named for each in passages):
        uses = (len(places) for each in passages for places in each.candidate.body_hits.values())
        return sum(uses) >= MIN_LONE_USES
    return len(passages) >= MIN_UNANCHORED_PASSAGES or any(each.anchored for each in passages)


def _document_score(passages: Sequence[Scored]) -> float:
    """The best passage counts fully, each further one half of the one before; then what the document is about.

    A page named after the keyword, or one that keeps coming back to it, is a better source than a long page that
    mentions it somewhere.
    """
    best = sorted((each.score for each in passages), reverse=True)[:MAX_PASSAGES_PER_SOURCE]
    score = sum(each * 0.5**rank for rank, each in enumerate(best))
    focus = min(1.0, len(passages) / max(passages[0].candidate.passages_in_document, 1))
    named = 1 + NAMED_BONUS * max(max(each.title_share, DEFINED_SHARE * each.defines) for each in passages)
    news = NEWS_DISCOUNT if _NEWS.search(passages[0].candidate.document_title) else 1.0
    return score * named * news * (0.4 + 0.6 * math.sqrt(focus))


def _source(passages: Sequence[Scored]) -> Source:
    # What says what the keyword is, or begins the page on it, goes before what uses its words more often.
    best = sorted(
        passages, key=lambda each: (not (each.opens or each.defines), -each.score, each.candidate.position)
    )[:MAX_PASSAGES_PER_SOURCE]
    reading_order = sorted(best, key=lambda each: each.candidate.position)
    first = reading_order[0].candidate
    return Source(
        title=first.document_title,
        url=first.url,
        path=first.path,
        licence=first.licence,
        passages=tuple(_ranked(each) for each in reading_order),
        published_on=first.published_on,
        author=first.author,
        quotable=first.quotable,
    )


def _ranked(scored: Scored) -> RankedPassage:
    passage = scored.candidate.passage
    return RankedPassage(passage.heading, passage.text, round(scored.score, 4), passage.flags)


def _place(candidate: Candidate) -> str:
    return candidate.path or candidate.url or ""
