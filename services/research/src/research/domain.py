"""What research is made of, and the decision whether a corpus can answer a keyword.

Pure: no I/O, no clock, no randomness. Positions are word positions counted by PostgreSQL's full-text parser,
so that "the same word" means the same here and in the index.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from research import definitions
from research.near_duplicates import Shingles, are_one_text, shingles
from research.relevance import Query, is_above_floor, is_worded, names, runs, saturated, translated

CACHE_PERIOD = timedelta(days=7)
MIN_SOURCES = 3
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
# A passage that says what the keyword is, as a glossary does, and what that is to its document, as a share of a title.
DEFINED_BONUS = 2.0
DEFINED_SHARE = 0.8
# What changed in one version is a poor source on what a thing is.
NEWS_DISCOUNT = 0.4
# One line says what a page is about, and little else.
NAME_LINE_DISCOUNT = 0.3
MIN_ABBREVIATION = 2
ABBREVIATION_DISCOUNT = 0.75
# What is said in other words than the keyword's.
OTHER_WORDS_DISCOUNT = 0.8

_DASHES = re.compile("[-/\u2010-\u2015\u2212]+")
_SPACES = re.compile(r"\s+")
_NEWS = re.compile(
    r"\b(?:what[’']?s new|release notes?|change ?log|changes (?:in|since)|news)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Passage:
    r"""Plain text under one heading: paragraphs, lists, listings and tables, separated by a blank line.

    A paragraph is one line without a tab; whatever has a structure has a marker and a tab before each of its lines:
    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head).
    """

    heading: str | None
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the corpus after extraction. `quality` runs from 0 (lists of links) to 1 (prose)."""

    title: str
    passages: tuple[Passage, ...]
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None
    """When it was changed last, or published, as the text itself says; never the date of the file."""
    quality: float = 1.0
    author: str | None = None
    robots: str = ""
    """What it asks of robots, as its meta tags say."""
    own: bool = False
    """Whether it is the brand's own text, as the brand says; no document says so itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the web, read for one keyword. `weight` is what its quality counts for: more than 1 if it is preferred.

    Of one `host` only so many become sources; None: as many as there are.
    """

    document: Document
    host: str | None
    weight: float = 1.0
    quotable: bool = False
    """As of `Source`."""


@dataclass(frozen=True, slots=True)
class RankedPassage:
    heading: str | None
    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document that says something about the keyword; its passages stand in the order of the document."""

    title: str
    url: str | None
    path: str | None
    licence: str | None
    passages: tuple[RankedPassage, ...]
    published_on: date | None = None
    author: str | None = None
    quotable: bool = True
    """Whether whole paragraphs of it may be printed: it was given to us, is the brand's own, or is freely licensed."""


@dataclass(frozen=True, slots=True)
class Found:
    """`is_preliminary`: there may be better ones, once all documents have been read; it is not kept for others."""

    sources: tuple[Source, ...]
    is_preliminary: bool = False
    left_out: str = ""
    """Where was not looked, and why; empty if everywhere was."""


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A normal outcome: the corpus does not carry an honest article. `detail` is for the person who asked."""

    detail: str
    reason: str = "insufficient_sources"


Findings = Found | Insufficient


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that shares a word with the keyword. The mappings give the positions of the keyword's lexemes."""

    document_id: int
    document_title: str
    path: str | None
    """Below the corpus folder; None of a page of the web."""
    url: str | None
    licence: str | None
    quality: float
    passages_in_document: int
    position: int
    passage: Passage
    published_on: date | None = None
    body_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    heading_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    title_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    author: str | None = None
    host: str | None = None
    """As of `Page`; None of a file."""
    quotable: bool = True
    """As of `Source`."""
    own: bool = False
    """As of `Document`."""
    corpus: str = ""
    """As the index calls it; empty of a page."""


@dataclass(frozen=True, slots=True)
class Hits:
    """A look-up: what was asked and what the index gave."""

    query: Query
    candidates: Sequence[Candidate]


def normalise_keyword(keyword: str) -> str:
    """The form under which a keyword is cached: `Write-Ahead  Logging` and `write ahead logging` are one."""
    return _SPACES.sub(" ", _DASHES.sub(" ", keyword)).strip().casefold()


def abbreviation(keyword: str, texts: Iterable[str]) -> str | None:
    """The short name that the corpus itself introduces for the keyword: "Write-Ahead Logging (WAL)" gives WAL."""
    words = normalise_keyword(keyword).split()
    initials = "".join(word[0] for word in words).upper()
    if len(initials) < MIN_ABBREVIATION:
        return None
    spelled = r"[\W_]+".join(map(re.escape, words))
    introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
    return initials if any(introduction.search(text) for text in texts) else None


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
    scored = _in_other_words(query, candidates, _scored(query, candidates))
    if named_by is not None:
        scored = _merged(scored, _by_abbreviation(named_by))
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


@dataclass(frozen=True, slots=True)
class _Scored:
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


def _scored(query: Query, candidates: Sequence[Candidate]) -> list[_Scored]:
    scored = []
    for candidate in candidates:
        score = passage_score(query, candidate)
        if score > 0:
            share = _title_share(query, candidate)
            named = share > 0 or names(query, candidate.heading_hits)
            anchored = named or is_worded(query, candidate.body_hits)
            defines, opens = _defines(query, candidate), _opens(query, candidate)
            scored.append(_Scored(score, named, anchored, share, defines, opens, candidate))
    return scored


def _in_other_words(
    query: Query, candidates: Sequence[Candidate], worded: Sequence[_Scored]
) -> Sequence[_Scored]:
    """And the passages that are above the floor once other words count for those of the keyword, at a discount."""
    if not query.wanted - query.lexemes:
        return worded
    reread = _scored(query, [_reread(query, each) for each in candidates])
    others = [replace(each, score=each.score * OTHER_WORDS_DISCOUNT) for each in reread]
    return _merged(worded, others)


def _reread(query: Query, candidate: Candidate) -> Candidate:
    """As if it used the keyword's words. One of them, at least, it has to use itself."""
    texts = (candidate.body_hits, candidate.heading_hits, candidate.title_hits)
    loosely = len(query.terms) > 1 and any(hits.get(lexeme) for hits in texts for lexeme in query.lexemes)
    body, heading, title = (translated(query, hits, loosely=loosely) for hits in texts)
    return replace(candidate, body_hits=body, heading_hits=heading, title_hits=title)


def _defines(query: Query, candidate: Candidate) -> bool:
    text = candidate.passage.text
    if _is_entry_of(query, candidate):
        return definitions.is_entry(text)
    return definitions.says_what_is(normalise_keyword(query.keyword), text)


def _opens(query: Query, candidate: Candidate) -> bool:
    """Whether it begins a page on the keyword, or goes on there with what that is or does."""
    text = candidate.passage.text
    on_it = names(query, candidate.title_hits)
    begins = on_it and (candidate.position == 0 or definitions.NAME_LINE.match(text) is not None)
    headed = on_it or names(query, candidate.heading_hits)
    return begins or (headed and definitions.goes_on_about(normalise_keyword(query.keyword), text))


def _is_entry_of(query: Query, candidate: Candidate) -> bool:
    """Whether the heading is the keyword and nothing else, as in a glossary."""
    heading = _ASIDE.sub("", candidate.passage.heading or "")
    return (
        heading[:1].isalnum()
        and len(_DASHES.sub(" ", heading).split()) == len(query.terms)
        and names(query, candidate.heading_hits)
    )


def _title_share(query: Query, candidate: Candidate) -> float:
    if not names(query, candidate.title_hits):
        return 0.0
    words = [word for word in _DASHES.sub(" ", candidate.document_title).split() if word[0].isalpha()]
    share = min(1.0, len(query.terms) / max(len(words), 1))
    # "Index Scanning" has the words of "index-only scans" without being its page.
    return share if runs(query.terms, candidate.title_hits) else share / 3


def _by_abbreviation(hits: Hits) -> list[_Scored]:
    named = (each for each in _scored(hits.query, hits.candidates) if each.named)
    return [replace(each, score=each.score * ABBREVIATION_DISCOUNT) for each in named]


def _merged(scored: Sequence[_Scored], others: Sequence[_Scored]) -> list[_Scored]:
    best: dict[tuple[int, int], _Scored] = {}
    for each in (*scored, *others):
        key = (each.candidate.document_id, each.candidate.position)
        if key not in best or each.score > best[key].score:
            best[key] = each
    return list(best.values())


def _best_sources(query: Query, scored: Sequence[_Scored]) -> list[Source]:
    by_document: dict[int, list[_Scored]] = {}
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


def _place(candidate: Candidate) -> str:
    return candidate.path or candidate.url or ""


def _independent(ranked: Sequence[Sequence[_Scored]]) -> list[Sequence[_Scored]]:
    """The best of them that do not say the same in the same words, of many hosts; as many as an article can use."""
    chosen: list[tuple[Sequence[_Scored], Shingles]] = []
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


def _counts(query: Query, passages: Sequence[_Scored]) -> bool:
    if len(query.lexemes) == 1 and not any(each.named for each in passages):
        uses = (len(places) for each in passages for places in each.candidate.body_hits.values())
        return sum(uses) >= MIN_LONE_USES
    return len(passages) >= MIN_UNANCHORED_PASSAGES or any(each.anchored for each in passages)


def _document_score(passages: Sequence[_Scored]) -> float:
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


def _source(passages: Sequence[_Scored]) -> Source:
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


def _ranked(scored: _Scored) -> RankedPassage:
    passage = scored.candidate.passage
    return RankedPassage(passage.heading, passage.text, round(scored.score, 4), passage.flags)


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
