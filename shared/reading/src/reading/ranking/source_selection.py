"""Selects the sources for a keyword, or refuses if there are too few. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from documents.blocks import Paragraph
from documents.source_minimum import MIN_SHOWN_WORDS, sources_needed
from reading.ranking.aboutness import MIN_ABOUT, describe_absence, parse_keyword
from reading.ranking.near_duplicates import Shingles, are_near_duplicates, shingles
from reading.ranking.passages import (
    ScoredPassage,
    SearchHits,
    add_synonym_matches,
    merge_scored,
    score_abbreviation_hits,
    score_passages,
)
from reading.ranking.relevance import KeywordQuery, with_synonyms
from reading.ranking.sources import (
    CandidatePassage,
    Findings,
    InsufficientSources,
    NearestSection,
    RankedPassage,
    ResearchResult,
    ResearchSource,
)

MAX_SOURCES = 8
MAX_PASSAGES_PER_SOURCE = 6
# Documents that a refusal names.
MAX_MENTIONS = 3
# Of a section, in one passage.
MAX_PARAGRAPHS = 4
# Of the web; with more, an article would repeat one site.
MAX_SOURCES_PER_HOST = 2

# A one-word keyword that neither title nor heading names must at least be used repeatedly in the document.
MIN_LONE_USES = 2
# A document without the keyword's own wording needs at least this many passages about it.
MIN_UNANCHORED_PASSAGES = 2
# A source counts if its best passage has this share of the best source's score; lower ones merely share vocabulary.
MIN_RELATIVE_SCORE = 0.3
# A title that is the keyword alone adds this to a document's weight of 1.
NAMED_BONUS = 1.5
DEFINED_SHARE = 0.8
# A passage answers a question if it has this share of what the question asks beyond its topic: by weight, or of its words.
MIN_ANSWERED = 0.5
MIN_ANSWERED_WORDS = 0.66
# It has this share of the topic by weight, with its title and heading: on a site about bicycles, "chain" is the "bike chain".
MIN_ON_TOPIC = 0.5
# And this share of the best answer's score.
MIN_RELATIVE_ANSWER = 0.7
# Release notes explain a subject poorly.
NEWS_DISCOUNT = 0.4

_NEWS = re.compile(
    r"\b(?:what[’']?s new|release notes?|change ?log|changes (?:in|since)|news)\b",  # noqa: RUF001
    re.IGNORECASE,
)


def select_sources(
    query: KeywordQuery,
    candidates: Sequence[CandidatePassage],
    named_by: SearchHits | None = None,
    *,
    min_sources: int,
    spines: Sequence[ResearchSource] = (),
    nearest: NearestSection | None = None,
    looked_in: str = "The corpus",
) -> Findings:
    """Rank the candidates and refuse when too few documents treat the keyword, by `documents.source_minimum`.

    Args:
        query: the keyword.
        candidates: passages with a word of it.
        named_by: the hits of the keyword's abbreviation. They count only if title or heading has the abbreviation,
            because abbreviations are ambiguous.
        min_sources: the least number of documents, unless one may be quoted at length and is about the keyword.
        spines: sources with a section about the keyword, best first; they come before all others.
        nearest: the section whose title is most like the keyword, for a refusal.
        looked_in: begins the sentence of a refusal.
    """
    if not query.terms:
        return InsufficientSources(
            f"The keyword “{query.keyword}” has no searchable words; use more specific ones."
        )
    scored = add_synonym_matches(query, candidates, score_passages(query, candidates))
    if named_by is not None:
        scored = merge_scored(scored, score_abbreviation_hits(named_by))
    best = _best_sources(query, scored)
    # Of the web, few pages of one host count, and no copies.
    places = {_place(each) for each in best}
    spines = [each for each in spines if each.path is not None or _place(each) in places]
    copied, others = _compare(spines, best)
    found = len(best) + others
    if found < sources_needed(quotable=any(each.suffices for each in spines), min_sources=min_sources):
        known = any(term.frequency for term in query.terms)
        mentions = _mentions(scored, candidates) if known else []
        return InsufficientSources(
            _describe_shortage(query, found, mentions, nearest, looked_in, min_sources)
        )
    kept, others_kept = ([each for each in some if _place(each) not in copied] for some in (spines, best))
    return ResearchResult(tuple(_with_spines(kept, others_kept)))


def select_answers(
    query: KeywordQuery, topic: KeywordQuery, candidates: Sequence[CandidatePassage]
) -> tuple[ResearchSource, ...]:
    """Rank the passages on a topic that have what a question asks beyond it; none is an answer, too.

    Args:
        query: the topic and the question, as one text.
        topic: the keyword that the question is about.
        candidates: passages with a word of the query.
    """
    asked = query.lexemes - topic.lexemes
    scored: dict[int, list[ScoredPassage]] = {}
    for each in candidates:
        body, heading, title = (
            with_synonyms(query, hits, loosely=False)
            for hits in (each.body_hits, each.heading_hits, each.title_hits)
        )
        found = asked & (body.keys() | heading.keys())
        share = query.share_of(found, asked)
        enough = share >= MIN_ANSWERED or len(found) >= MIN_ANSWERED_WORDS * len(asked)
        on_topic = topic.coverage({**title, **heading, **body})
        if not enough or not asked & body.keys() or on_topic < MIN_ON_TOPIC:
            continue
        named = topic.coverage({**title, **heading})
        score = (share + on_topic + named / 2) * each.quality
        passage = ScoredPassage(
            score, named=False, anchored=False, title_share=0.0, defines=False, opens=False, candidate=each
        )
        scored.setdefault(each.document_id, []).append(passage)
    ranked = sorted(
        scored.values(), key=lambda some: (-max(each.score for each in some), _location(some[0].candidate))
    )
    best = max((each.score for passages in ranked for each in passages), default=0.0)
    good = [[each for each in passages if each.score >= MIN_RELATIVE_ANSWER * best] for passages in ranked]
    return tuple(_source(passages) for passages in _pick_independent(list(filter(None, good))))


def _mentions(
    scored: Sequence[ScoredPassage], candidates: Sequence[CandidatePassage]
) -> list[tuple[str, str]]:
    """Return title and place of the documents that use the keyword's words most."""
    ranked = [each.candidate for each in sorted(scored, key=lambda each: -each.score)] or candidates
    return list(dict.fromkeys((each.document_title, _location(each)) for each in ranked))[:MAX_MENTIONS]


def _compare(spines: Sequence[ResearchSource], best: Sequence[ResearchSource]) -> tuple[set[str], int]:
    """Return the places of documents that a section's document repeats, and the number of those that repeat none."""
    known = {_place(each) for each in best}
    others = {_place(each): each for each in spines if _place(each) not in known}
    counted = [(_place(each), _shingles(each.passages)) for each in best] if others else []
    copied: set[str] = set()
    for place, each in others.items():
        words = _shingles(_passages_of(each))
        same = next((other for other, found in counted if are_near_duplicates(words, found)), None)
        if same is None:
            counted.append((place, words))
        else:
            copied.add(same)
    return copied, max(0, len(counted) - len(best))


def _shingles(passages: Sequence[RankedPassage]) -> Shingles:
    return shingles(each.text for each in passages)


def _with_spines(
    spines: Sequence[ResearchSource], best: Sequence[ResearchSource]
) -> Iterator[ResearchSource]:
    """Yield the sections about the keyword, those that may be quoted first, then the other documents."""
    passages = {_place(each): each.passages for each in best}
    for spine in sorted(spines, key=lambda each: not each.quotable):
        # A second section of a document speaks for itself.
        yield replace(spine, passages=passages.pop(_place(spine), ()) or _passages_of(spine))
    yield from [each for each in best if _place(each) in passages]


def _passages_of(source: ResearchSource) -> tuple[RankedPassage, ...]:
    """Return the paragraphs of a section as passages."""
    passages: list[RankedPassage] = []
    for _, section in source.section.walk() if source.section is not None else ():
        texts = [each.text for each in section.blocks if isinstance(each, Paragraph) and not each.flags]
        if texts and len(passages) < MAX_PASSAGES_PER_SOURCE:
            passages.append(RankedPassage(section.title, "\n\n".join(texts[:MAX_PARAGRAPHS]), source.about))
    return tuple(passages)


def _place(source: ResearchSource) -> str:
    return source.path or (source.url or "").partition("#")[0]


def _describe_shortage(
    query: KeywordQuery,
    found: int,
    mentions: Sequence[tuple[str, str]],
    nearest: NearestSection | None,
    looked_in: str,
    min_sources: int,
) -> str:
    about = nearest if nearest is not None and nearest.about >= MIN_ABOUT else None
    if not found and about is None:
        return describe_absence(parse_keyword(query.keyword), mentions, looked_in)
    treated = f"only {found} {'document treats' if found == 1 else 'documents treat'} it (copies count once)"
    advice = "Add documents on the topic or choose another keyword."
    if about is None:
        places = ", ".join(f"“{title}” ({place})" for title, place in mentions)
        because = f"{treated}: {places}, and no page, section or index entry is named so"
    elif about.quotable:
        because = f"the page or section on it, “{about.title}” ({about.place}), has only {about.words} words"
        advice = "Write more there, add documents on the topic, or choose another keyword."
    else:
        because = f"{treated}, and “{about.title}” ({about.place}) may only be quoted in short extracts"
        advice = (
            "If it may be quoted at length, state its licence; else add documents or choose another keyword."
        )
    return (
        f"{looked_in} has too little about “{query.keyword}”: {because}. An article needs a page or section on it of"
        f" {MIN_SHOWN_WORDS} words that may be quoted at length, or at least {min_sources} sources. {advice}"
    )


def _best_sources(query: KeywordQuery, scored: Sequence[ScoredPassage]) -> list[ResearchSource]:
    by_document: dict[int, list[ScoredPassage]] = {}
    for each in scored:
        by_document.setdefault(each.candidate.document_id, []).append(each)
    ranked = sorted(
        (passages for passages in by_document.values() if _is_eligible(query, passages)),
        key=lambda passages: (-_document_score(passages), _location(passages[0].candidate)),
    )
    if not any(each.anchored for passages in ranked for each in passages):
        # Both words of "time management" stand close together on some pages of a database manual, by chance.
        return []
    floor = MIN_RELATIVE_SCORE * max(each.score for each in ranked[0])
    good = [passages for passages in ranked if max(each.score for each in passages) >= floor]
    return [_source(passages) for passages in _pick_independent(good)]


def _pick_independent(ranked: Sequence[Sequence[ScoredPassage]]) -> list[Sequence[ScoredPassage]]:
    """Return the best documents, up to `MAX_SOURCES`, without near-duplicates and with few per host."""
    chosen: list[tuple[Sequence[ScoredPassage], Shingles]] = []
    hosts: Counter[str | None] = Counter()
    for passages in ranked:
        host = passages[0].candidate.host
        if host is not None and hosts[host] == MAX_SOURCES_PER_HOST:
            continue
        words = shingles(each.candidate.passage.text for each in passages)
        if not any(are_near_duplicates(words, others) for _, others in chosen):
            chosen.append((passages, words))
            hosts[host] += 1
        if len(chosen) == MAX_SOURCES:
            break
    return [passages for passages, _ in chosen]


def _is_eligible(query: KeywordQuery, passages: Sequence[ScoredPassage]) -> bool:
    if len(query.lexemes) == 1 and not any(each.named for each in passages):
        uses = (len(places) for each in passages for places in each.candidate.body_hits.values())
        return sum(uses) >= MIN_LONE_USES
    return len(passages) >= MIN_UNANCHORED_PASSAGES or any(each.anchored for each in passages)


def _document_score(passages: Sequence[ScoredPassage]) -> float:
    """Sum the best passages, each with half the weight of the one before; then weight by the document's focus.

    A page named after the keyword, or one that often returns to it, is a better source than a long page that
    mentions it once.
    """
    best = sorted((each.score for each in passages), reverse=True)[:MAX_PASSAGES_PER_SOURCE]
    score = sum(each * 0.5**rank for rank, each in enumerate(best))
    focus = min(1.0, len(passages) / max(passages[0].candidate.passages_in_document, 1))
    named = 1 + NAMED_BONUS * max(max(each.title_share, DEFINED_SHARE * each.defines) for each in passages)
    news = NEWS_DISCOUNT if _NEWS.search(passages[0].candidate.document_title) else 1.0
    return score * named * news * (0.4 + 0.6 * math.sqrt(focus))


def _source(passages: Sequence[ScoredPassage]) -> ResearchSource:
    # Definitions and openings of pages on the keyword rank before passages that use its words more often.
    best = sorted(
        passages, key=lambda each: (not (each.opens or each.defines), -each.score, each.candidate.position)
    )[:MAX_PASSAGES_PER_SOURCE]
    reading_order = sorted(best, key=lambda each: each.candidate.position)
    first = reading_order[0].candidate
    return ResearchSource(
        title=first.document_title,
        url=first.url,
        path=first.path,
        licence=first.licence,
        passages=tuple(_ranked_passage(each) for each in reading_order),
        published_on=first.published_on,
        author=first.author,
        quotable=first.quotable,
    )


def _ranked_passage(scored: ScoredPassage) -> RankedPassage:
    passage = scored.candidate.passage
    return RankedPassage(passage.heading, passage.text, round(scored.score, 4), passage.flags)


def _location(candidate: CandidatePassage) -> str:
    return candidate.path or candidate.url or ""
