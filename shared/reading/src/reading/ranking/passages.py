"""Scores single passages for a keyword: by its words, by synonyms, or by its abbreviation. Pure.

Positions are word positions from PostgreSQL's full-text parser, so that "the same word" means the same here and in the index.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reading.ranking import definitions
from reading.ranking.relevance import (
    KeywordQuery,
    count_phrases,
    has_all_words,
    has_wording,
    is_above_floor,
    saturate,
    with_synonyms,
)
from reading.ranking.sources import DASHES, CandidatePassage, normalise_keyword

# Bonus for a passage that defines the keyword.
DEFINED_BONUS = 2.0
# A name line tells a page's subject, and little else.
NAME_LINE_DISCOUNT = 0.3
MIN_ABBREVIATION = 2
ABBREVIATION_DISCOUNT = 0.75
# For passages that match by synonyms.
OTHER_WORDS_DISCOUNT = 0.8

_ASIDE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class SearchHits:
    """A query and the passages that match it."""

    query: KeywordQuery
    candidates: Sequence[CandidatePassage]


def find_abbreviation(keyword: str, texts: Iterable[str]) -> str | None:
    """Return the abbreviation that the texts introduce for the keyword: "Write-Ahead Logging (WAL)" gives WAL."""
    words = normalise_keyword(keyword).split()
    initials = "".join(word[0] for word in words).upper()
    if len(initials) < MIN_ABBREVIATION:
        return None
    spelled = r"[\W_]+".join(map(re.escape, words))
    introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
    # Most texts lack the brackets, and a search for them is cheap.
    told = any(f"({initials})" in text and introduction.search(text) for text in texts)
    return initials if told else None


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage above the floor.

    `named`: title or heading has all words of the keyword. `anchored`: named, or the text has the keyword's wording.
    `defines`: it defines the keyword. `opens`: it begins a page on it.
    `title_share`: the keyword's share (0..1) of the title, 0 unless the title has all its words.
    """

    score: float
    named: bool
    anchored: bool
    title_share: float
    defines: bool
    opens: bool
    candidate: CandidatePassage


def score_passages(query: KeywordQuery, candidates: Sequence[CandidatePassage]) -> list[ScoredPassage]:
    scored = []
    for candidate in candidates:
        score = passage_score(query, candidate)
        if score > 0:
            share = _title_share(query, candidate)
            named = share > 0 or has_all_words(query, candidate.heading_hits)
            anchored = named or has_wording(query, candidate.body_hits)
            defines, opens = _defines(query, candidate), _opens(query, candidate)
            scored.append(ScoredPassage(score, named, anchored, share, defines, opens, candidate))
    return scored


def add_synonym_matches(
    query: KeywordQuery, candidates: Sequence[CandidatePassage], worded: Sequence[ScoredPassage]
) -> Sequence[ScoredPassage]:
    """Add the passages that reach the floor with synonyms, at a discount."""
    if not query.wanted - query.lexemes:
        return worded
    reread = score_passages(query, [_with_synonym_hits(query, each) for each in candidates])
    others = [replace(each, score=each.score * OTHER_WORDS_DISCOUNT) for each in reread]
    return merge_scored(worded, others)


def _with_synonym_hits(query: KeywordQuery, candidate: CandidatePassage) -> CandidatePassage:
    """Count synonyms as the keyword's words; near synonyms only if the passage has one of the words itself."""
    texts = (candidate.body_hits, candidate.heading_hits, candidate.title_hits)
    loosely = len(query.terms) > 1 and any(hits.get(lexeme) for hits in texts for lexeme in query.lexemes)
    body, heading, title = (with_synonyms(query, hits, loosely=loosely) for hits in texts)
    return replace(candidate, body_hits=body, heading_hits=heading, title_hits=title)


def score_abbreviation_hits(hits: SearchHits) -> list[ScoredPassage]:
    named = (each for each in score_passages(hits.query, hits.candidates) if each.named)
    return [replace(each, score=each.score * ABBREVIATION_DISCOUNT) for each in named]


def merge_scored(scored: Sequence[ScoredPassage], others: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    best: dict[tuple[int, int], ScoredPassage] = {}
    for each in (*scored, *others):
        key = (each.candidate.document_id, each.candidate.position)
        if key not in best or each.score > best[key].score:
            best[key] = each
    return list(best.values())


def passage_score(query: KeywordQuery, candidate: CandidatePassage) -> float:
    """Return the relevance of one passage; 0 means below the floor."""
    in_title = has_all_words(query, candidate.title_hits)
    in_heading = has_all_words(query, candidate.heading_hits)
    # "Hook: a program that …" need not repeat its name.
    explained = _is_entry_of(query, candidate) and _defines(query, candidate)
    if not explained and not is_above_floor(query, candidate.body_hits, named=in_title or in_heading):
        return 0.0
    body = candidate.body_hits
    uses = sum(len(body.get(lexeme, ())) for lexeme in query.lexemes)
    phrases = count_phrases(query.terms, body)
    score = query.coverage(body) * (1 + saturate(uses, half=4)) + 2 * saturate(phrases, half=1)
    score += 1.5 * in_heading + 1.5 * in_title + DEFINED_BONUS * _defines(query, candidate)
    if definitions.NAME_LINE.match(candidate.passage.text):
        score *= NAME_LINE_DISCOUNT
    return score * candidate.quality


def _defines(query: KeywordQuery, candidate: CandidatePassage) -> bool:
    text = candidate.passage.text
    if _is_entry_of(query, candidate):
        return definitions.is_glossary_entry(text)
    return definitions.has_definition(query.normalised, text)


def _opens(query: KeywordQuery, candidate: CandidatePassage) -> bool:
    """Return whether the passage begins a page on the keyword, or defines the keyword on such a page."""
    text = candidate.passage.text
    on_it = has_all_words(query, candidate.title_hits)
    begins = on_it and (candidate.position == 0 or definitions.NAME_LINE.match(text) is not None)
    headed = on_it or has_all_words(query, candidate.heading_hits)
    return begins or (headed and definitions.has_page_definition(query.normalised, text))


def _is_entry_of(query: KeywordQuery, candidate: CandidatePassage) -> bool:
    """Return whether the heading is the keyword alone, as in a glossary."""
    if not has_all_words(query, candidate.heading_hits):
        return False
    heading = _ASIDE.sub("", candidate.passage.heading or "")
    return heading[:1].isalnum() and len(DASHES.sub(" ", heading).split()) == len(query.terms)


def _title_share(query: KeywordQuery, candidate: CandidatePassage) -> float:
    if not has_all_words(query, candidate.title_hits):
        return 0.0
    words = [word for word in DASHES.sub(" ", candidate.document_title).split() if word[0].isalpha()]
    share = min(1.0, len(query.terms) / max(len(words), 1))
    # "Index Scanning" has the words of "index-only scans" without being its page.
    return share if count_phrases(query.terms, candidate.title_hits) else share / 3
