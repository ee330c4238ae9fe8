"""How well one passage answers a keyword, in its own words, in others, or by an abbreviation. Pure.

Positions are word positions counted by PostgreSQL's full-text parser, so that "the same word" means the same here and in the
index.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from research.domain import DASHES, Candidate, normalise_keyword
from research.ranking import definitions
from research.ranking.relevance import Query, is_above_floor, is_worded, names, runs, saturated, translated

# A passage that says what the keyword is, as a glossary does, and what that is to its document, as a share of a title.
DEFINED_BONUS = 2.0
# One line says what a page is about, and little else.
NAME_LINE_DISCOUNT = 0.3
MIN_ABBREVIATION = 2
ABBREVIATION_DISCOUNT = 0.75
# What is said in other words than the keyword's.
OTHER_WORDS_DISCOUNT = 0.8

_ASIDE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Hits:
    """A look-up: what was asked and what the index gave."""

    query: Query
    candidates: Sequence[Candidate]


def abbreviation(keyword: str, texts: Iterable[str]) -> str | None:
    """The short name that the corpus itself introduces for the keyword: "Write-Ahead Logging (WAL)" gives WAL."""
    words = normalise_keyword(keyword).split()
    initials = "".join(word[0] for word in words).upper()
    if len(initials) < MIN_ABBREVIATION:
        return None
    spelled = r"[\W_]+".join(map(re.escape, words))
    introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
    # Most texts have no such brackets, and looking for those takes no time.
    told = any(f"({initials})" in text and introduction.search(text) for text in texts)
    return initials if told else None


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage above the floor.

    `named`: title or heading carries the keyword. `anchored`: that, or the text has the keyword's wording. `defines`: it
    says what the keyword is. `opens`: it begins a page on it.
    `title_share`: the part (0..1) of the title that the keyword makes up, 0 unless the title carries all of it.
    """

    score: float
    named: bool
    anchored: bool
    title_share: float
    defines: bool
    opens: bool
    candidate: Candidate


def scored_passages(query: Query, candidates: Sequence[Candidate]) -> list[Scored]:
    scored = []
    for candidate in candidates:
        score = passage_score(query, candidate)
        if score > 0:
            share = _title_share(query, candidate)
            named = share > 0 or names(query, candidate.heading_hits)
            anchored = named or is_worded(query, candidate.body_hits)
            defines, opens = _defines(query, candidate), _opens(query, candidate)
            scored.append(Scored(score, named, anchored, share, defines, opens, candidate))
    return scored


def in_other_words(
    query: Query, candidates: Sequence[Candidate], worded: Sequence[Scored]
) -> Sequence[Scored]:
    """And the passages that are above the floor once other words count for those of the keyword, at a discount."""
    if not query.wanted - query.lexemes:
        return worded
    reread = scored_passages(query, [_reread(query, each) for each in candidates])
    others = [replace(each, score=each.score * OTHER_WORDS_DISCOUNT) for each in reread]
    return merged(worded, others)


def _reread(query: Query, candidate: Candidate) -> Candidate:
    """As if it used the keyword's words. One of them, at least, it has to use itself."""
    texts = (candidate.body_hits, candidate.heading_hits, candidate.title_hits)
    loosely = len(query.terms) > 1 and any(hits.get(lexeme) for hits in texts for lexeme in query.lexemes)
    body, heading, title = (translated(query, hits, loosely=loosely) for hits in texts)
    return replace(candidate, body_hits=body, heading_hits=heading, title_hits=title)


def by_abbreviation(hits: Hits) -> list[Scored]:
    named = (each for each in scored_passages(hits.query, hits.candidates) if each.named)
    return [replace(each, score=each.score * ABBREVIATION_DISCOUNT) for each in named]


def merged(scored: Sequence[Scored], others: Sequence[Scored]) -> list[Scored]:
    best: dict[tuple[int, int], Scored] = {}
    for each in (*scored, *others):
        key = (each.candidate.document_id, each.candidate.position)
        if key not in best or each.score > best[key].score:
            best[key] = each
    return list(best.values())


def passage_score(query: Query, candidate: Candidate) -> float:
    """Relevance of one passage; 0 means below the floor."""
    in_title = names(query, candidate.title_hits)
    in_heading = names(query, candidate.heading_hits)
    # "Hook: a program that …" need not say its name again.
    explained = _is_entry_of(query, candidate) and _defines(query, candidate)
    if not explained and not is_above_floor(query, candidate.body_hits, named=in_title or in_heading):
        return 0.0
    body = candidate.body_hits
    uses = sum(len(body.get(lexeme, ())) for lexeme in query.lexemes)
    phrases = runs(query.terms, body)
    score = query.coverage(body) * (1 + saturated(uses, half=4)) + 2 * saturated(phrases, half=1)
    score += 1.5 * in_heading + 1.5 * in_title + DEFINED_BONUS * _defines(query, candidate)
    if definitions.NAME_LINE.match(candidate.passage.text):
        score *= NAME_LINE_DISCOUNT
    return score * candidate.quality


def _defines(query: Query, candidate: Candidate) -> bool:
    text = candidate.passage.text
    if _is_entry_of(query, candidate):
        return definitions.is_entry(text)
    return definitions.says_what_is(query.normalised, text)


def _opens(query: Query, candidate: Candidate) -> bool:
    """Whether it begins a page on the keyword, or goes on there with what that is or does."""
    text = candidate.passage.text
    on_it = names(query, candidate.title_hits)
    begins = on_it and (candidate.position == 0 or definitions.NAME_LINE.match(text) is not None)
    headed = on_it or names(query, candidate.heading_hits)
    return begins or (headed and definitions.goes_on_about(query.normalised, text))


def _is_entry_of(query: Query, candidate: Candidate) -> bool:
    """Whether the heading is the keyword and nothing else, as in a glossary."""
    if not names(query, candidate.heading_hits):
        return False
    heading = _ASIDE.sub("", candidate.passage.heading or "")
    return heading[:1].isalnum() and len(DASHES.sub(" ", heading).split()) == len(query.terms)


def _title_share(query: Query, candidate: Candidate) -> float:
    if not names(query, candidate.title_hits):
        return 0.0
    words = [word for word in DASHES.sub(" ", candidate.document_title).split() if word[0].isalpha()]
    share = min(1.0, len(query.terms) / max(len(words), 1))
    # "Index Scanning" has the words of "index-only scans" without being its page.
    return share if runs(query.terms, candidate.title_hits) else share / 3
