"""Finds the part of a paragraph that makes sense without the rest of its source. Pure."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from writing.extractive.sentences import (
    MAX_CHARACTERS,
    MAX_PARAGRAPH,
    SentenceContext,
    balanced,
    is_language,
    points_away,
    rate_context,
    split,
    stems_of,
)

MIN_WORDS: Final = 9
MIN_LEAD_IN_WORDS: Final = 6
MAX_WORDS: Final = 190
# Paragraphs of at most a thousand characters are cached, in about 2 MB.
_SENTENCES: Final = 1024
_PARAGRAPHS: Final = 512
_LONGEST_REMEMBERED: Final = 2_000
# In a definite subject ("The wooden handle …"), the words that may say which one is meant.
_SUBJECT_WORDS: Final = 6

_ENDS = re.compile(r"[.!?][\"'”’)\]]*$")  # noqa: RUF001 - typographic quotes close sentences
_LEADS = re.compile(r":$")
# Words that limit the sentence before: without them, it would claim too much.
_QUALIFIES = re.compile(
    r"(?:however|but|yet|nevertheless|nonetheless|unless|except|only|still|though|although|otherwise|this (?:is|does|will) not|"
    r"(?:please )?note|beware|be careful|in practice|conversely|on the other hand|that said|unfortunately)\b",
    re.IGNORECASE,
)
# The text that these words introduce comes right after them.
_LEADING_WORDS = re.compile(
    r"\b(?:(?:the|these) following|as follows|(?:the )?following|below)\b|\b(?:like )?(?:this|these)\b(?=[^.]{0,40}:$)",
    re.IGNORECASE,
)
_NARRATOR = re.compile(
    r"^(?:we|i|our|my|let's|let us|suppose|imagine|assume|consider|say|in our|in my|back to|now that|having|"
    r"after (?:we|you) (?:have|had)|as (?:we|you)|once (?:we|you) have)\b",
    re.IGNORECASE,
)
# The author's person, a continued example, a page that is missing.
_ELSEWHERE = re.compile(
    r"\b(?:as|when|what|where|that) (?:we|i|you)(?:'ve| have| had)? (?:just |already |previously )?"
    r"(?:saw|seen|discussed|described|mentioned|explained|learned|learnt|covered|noted|did|done|created|made|used)\b"
    r"|\b(?:we|i|you)(?:'ve| have) (?:just |already |previously )?(?:saw|seen|discussed|described|mentioned|explained|learned|"
    r"covered|noted)\b"
    r"|\bwe(?:'ll| will| shall) (?:now |also |then |later |next )?(?:see|look|discuss|describe|explain|cover|use|return|come|show|start|"
    r"assume|talk)\b"
    r"|\b(?:i|i'm|i've|my|mine|me)\b(?![./-])|\b(?:our|this|that|the previous|the first|the last|the above) (?:example|"
    r"scenario|illustration|listing|diagram|figure|table|screenshot|picture|snippet)\b"
    r"|\b(?:mentioned|discussed|described|explained|shown|given|defined|listed|introduced|noted|seen|created|used|"
    r"presented|outlined|covered) (?:earlier|before|previously|so far|already)\b"
    r"|\b(?:earlier|later|elsewhere|further on|further down|next|so far) (?:in|on) (?:this|the|our)\b"
    r"|\bas (?:above|below|usual|before|follows)\b"
    r"|\bthe above\b|\babove(?:-| )mentioned\b|\b(?:above|below)(?=[.,;:)]|$)"
    r"|\b(?:example|command|section|code|table|figure|list|listing|diff|output|script|snippet|picture|image|diagram|syntax|"
    r"configuration|function|query|file|step|note|paragraph|text|procedure|description|discussion)s? (?:above|below)\b"
    r"|\b(?:above|below) (?:example|command|section|code|table|figure|list|listing|diff|output|script|snippet|query|file|step|note)s?\b"
    r"|\b(?:see|cf\.|refer to|consult|read|check) (?:also )?(?:the )?(?:\w+ ){0,6}(?:section|chapter|manual page|man page|page|appendix|"
    r"documentation|sidebar|faq|wiki|tutorial|reference|entry|below|above|for (?:more|details|further|an?))\b"
    r"|\bsidebar\b|\b(?:next|previous|preceding|following|earlier|later|last|first|other) (?:chapter|section|page|paragraph|sections|"
    r"chapters|tutorial|article|post|lesson|exercise)s?\b"
    r"|\b(?:chapter|section|appendix|table|figure|listing|page|exercise) (?:[A-Z]\.)?\d"
    r"|\bthis (?:is|was) (?:the|an?) (?:\w+ )?(?:section|chapter|document|page|tutorial|book|guide)\b"
    # Anchored: from every word, a long chain of words would be read as often as it has words.
    r"|(?<![\w.+-])[.+-]*\w[\w.+-]*\[\d\]"
    r"|\bsee also\b|^see\b"
    # Credits and news of a version.
    r"|\b(?:contributed|patch(?:ed)?|reported|suggested|written) by [A-Z]|\bbpo-\d|\bgh-\d{3}|\bpreviously deprecated\b"
    r"|^(?:changed|new|added|deprecated|removed) (?:in|since) (?:version|release|django|python|\w+ v?\d)"
    r"|^an? new (?:function|module|option|feature|class|method|command|parameter|argument|keyword|attribute|flag|syntax)\b"
    # A story that began before.
    r"|^you,|^you (?:have|had|cloned|made|created|added|wrote|started|began|saw)\b",
    re.IGNORECASE,
)
# "Bisecting between Z and D*": names from a drawing or an example.
_LETTERS = re.compile(
    r"(?<![\w.'\u2019/-])(?:[B-HJ-Z]|A(?= (?:and|or|to|is|has)\b))(?![\w.'\u2019+#/-])|(?<!\w)#\d|\b\w[*^](?![\w*])"
)
_FEW_LETTERS: Final = 2
# Marks of the source's own, and addresses with a user's name and password.
_MARKS = re.compile(r"\[\d+\]|://[^\s/]*@|</\w|\{\{|\}\}|�|\[(?:citation needed|edit)\]", re.IGNORECASE)
_SUBJECT = re.compile(r"^(?:The|That|Those|Both|All)\s+(.*)", re.DOTALL)
_SAYS_WHICH = re.compile(
    r"\b(?:of|that|which|who|whose|where|between|for|in|on|from|to|at|with|by)\b|[A-Z_`(]|\d|\w-\w"
)
# Unique things.
_KNOWN: Final = frozenset(
    stems_of("user system computer world web internet network operating kernel shell idea goal purpose")
)


@dataclass(frozen=True, slots=True)
class Quotable:
    """The quotable part of a paragraph: consecutive sentences, verbatim."""

    standing: SentenceContext
    text: str = ""
    leads: bool = False
    """True if it ends with the introduction of the list, listing or table behind it."""
    is_closed: bool = False
    """True if it extends to the paragraph's end, so that a continuing block may follow."""


def quotable(text: str, *, leads: bool, known: AbstractSet[str]) -> Quotable:
    """Returns the first run of sentences that makes sense alone: without references elsewhere or missing announcements.

    `leads`: a list, listing or table follows the paragraph. `known` are stems of the words in title, heading and keyword:
    "The handle …" is clear if these are about handles.
    """
    for run in (_whole_runs if len(text) <= _LONGEST_REMEMBERED else _whole_runs.__wrapped__)(text, leads):
        found = _opening(run.first, leads=run.leads and run.is_alone, known=known)
        if found is SentenceContext.INDEPENDENT or (found is SentenceContext.DEPENDENT and run.begins):
            return Quotable(found, run.text, run.leads, run.is_closed)
    return Quotable(SentenceContext.UNUSABLE)


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive sentences of a paragraph that are complete under any title, heading and keyword."""

    text: str
    first: str
    """The first sentence."""
    begins: bool
    """True if that is the paragraph's first."""
    is_alone: bool
    """True if it is the only sentence."""
    leads: bool
    is_closed: bool


# Articles of one brand quote the same passages: results that depend on the text alone are cached, unless too long.
@lru_cache(_PARAGRAPHS)
def _whole_runs(text: str, leads: bool) -> tuple[_Run, ...]:
    sentences = split(text) if len(text) <= MAX_PARAGRAPH else ()
    found: list[_Run] = []
    for first, end in _runs(sentences, leads=leads):
        closed = end == len(sentences)
        run = _slice(text, sentences, first, end)
        leading = leads and closed
        if (
            len(run.split()) >= (MIN_LEAD_IN_WORDS if leading else MIN_WORDS)
            and is_whole(run, leads=leading)
            and (closed or not _QUALIFIES.match(sentences[end]))
        ):
            found.append(_Run(run, sentences[first], first == 0, first == end - 1, leading, closed))
    return tuple(found)


def _runs(sentences: Sequence[str], *, leads: bool) -> Iterator[tuple[int, int]]:
    """Returns the spans of sentences between those that refer elsewhere."""
    first = 0
    last = len(sentences) - 1
    for at, sentence in enumerate(sentences):
        leading = leads and at == last
        if (
            _is_away(sentence, leads=leading)
            or _is_torn(sentence)
            or (_LEADS.search(sentence) and not leading)
        ):
            if at > first:
                yield first, at
            first = at + 1
    if first <= last:
        yield first, last + 1


def _is_torn(sentence: str) -> bool:
    """Whether it has names from a drawing or an example, or marks of its page."""
    return len(_LETTERS.findall(sentence)) >= _FEW_LETTERS or _MARKS.search(sentence) is not None


def _slice(text: str, sentences: Sequence[str], first: int, end: int) -> str:
    """Returns the text from one sentence to the one before `end`, verbatim."""
    places: list[int] = []
    at = 0
    for sentence in sentences[:end]:
        at = text.index(sentence, at)
        places.append(at)
        at += len(sentence)
    return text[places[first] : at]


def quotable_beginning(text: str) -> str:
    """Returns the quotable part from the paragraph's beginning; may be empty."""
    found = next(_runs(split(text), leads=False), None) if len(text) <= MAX_PARAGRAPH else None
    return _slice(text, split(text), *found) if found is not None and found[0] == 0 else ""


def is_whole(text: str, *, leads: bool = False) -> bool:
    """Whether it is prose of readable length that ends properly and needs no other text."""
    sentences = split(text)
    last = len(sentences) - 1
    return (
        len(text.split()) <= MAX_WORDS
        and (leads or _ENDS.search(text) is not None)
        and balanced(text)
        and is_language(text)
        and _MARKS.search(text) is None
        and len(_LETTERS.findall(text)) < _FEW_LETTERS
        and not any(_is_away(sentence, leads=leads and at == last) for at, sentence in enumerate(sentences))
    )


def _is_away(sentence: str, *, leads: bool) -> bool:
    return (_away if len(sentence) <= MAX_CHARACTERS else _away.__wrapped__)(sentence, leads)


# A paragraph's sentences are checked one by one and as a whole.
@lru_cache(_SENTENCES)
def _away(sentence: str, leads: bool) -> bool:
    told = _LEADING_WORDS.sub("", sentence) if leads else sentence
    return points_away(told) or _ELSEWHERE.search(told) is not None


def _opening(sentence: str, *, leads: bool, known: AbstractSet[str]) -> SentenceContext:
    """Rates the paragraph's first sentence, which decides for the whole."""
    told = _LEADING_WORDS.sub("some", sentence).removesuffix(":") + "." if leads else sentence
    first, space, rest = told.partition(" ")
    if first.islower() and not known.isdisjoint(stems_of(first)):
        # A lower-case name: "asyncio is a library".
        told = f"{first.capitalize()}{space}{rest}"
    found = rate_context(told, alone=False)
    if found is SentenceContext.INDEPENDENT and (_NARRATOR.match(sentence) or _is_unknown(sentence, known)):
        return SentenceContext.DEPENDENT
    return found


def _is_unknown(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether it speaks of "the" thing that neither it nor title, heading or keyword has named."""
    subject = _SUBJECT.match(sentence)
    if subject is None:
        return False
    words = subject[1].split()[:_SUBJECT_WORDS]
    return _SAYS_WHICH.search(" ".join(words)) is None and (known | _KNOWN).isdisjoint(
        stems_of(" ".join(words))
    )
