"""Whether a paragraph, as it stands, makes sense to a reader who sees nothing else of its source. Pure."""

import re
from collections.abc import Set as AbstractSet
from typing import Final

from orchestrator.writing.extractive.sentences import (
    MAX_PARAGRAPH,
    Standing,
    balanced,
    is_language,
    judge,
    points_away,
    split,
    stems_of,
)

MIN_WORDS: Final = 9
MIN_LEAD_IN_WORDS: Final = 6
MAX_WORDS: Final = 190
# Of a definite subject ("The wooden handle …"), the words that may say which one is meant.
_SUBJECT_WORDS: Final = 6

_ENDS = re.compile(r"[.!?][\"'”’)\]]*$")  # noqa: RUF001 - typographic quotes close sentences
_LEADS = re.compile(r":$")
# What these words lead up to stands right after them.
_LEADING_WORDS = re.compile(
    r"\b(?:(?:the|these) following|as follows|(?:the )?following|below)\b|\b(?:like )?(?:this|these)\b(?=[^.]{0,40}:$)",
    re.IGNORECASE,
)
_NARRATOR = re.compile(
    r"^(?:we|i|our|my|let's|let us|suppose|imagine|assume|consider|say|in our|in my|back to|now that|having|"
    r"after (?:we|you) (?:have|had)|as (?:we|you)|once (?:we|you) have)\b",
    re.IGNORECASE,
)
# The author's person, an example that goes on, a page that is not there.
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
    r"|\b[\w.+-]+\[\d\]|\bsee also\b|^see\b"
    # Credits and news of a version.
    r"|\b(?:contributed|patch(?:ed)?|reported|suggested|written) by [A-Z]|\bbpo-\d|\bgh-\d{3}|\bpreviously deprecated\b"
    r"|^an? new (?:function|module|option|feature|class|method|command|parameter|argument|keyword|attribute|flag|syntax)\b"
    # A story that began before.
    r"|^you,|^you (?:have|had|cloned|made|created|added|wrote|started|began|saw)\b",
    re.IGNORECASE,
)
# "Bisecting between Z and D*": names out of a drawing or an example.
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
# What everybody knows there is one of.
_KNOWN: Final = frozenset(
    stems_of("user system computer world web internet network operating kernel shell idea goal purpose")
)


def standing(text: str, *, leads: bool, known: AbstractSet[str]) -> tuple[Standing, str]:
    """How a paragraph stands, and what of it is quoted: all but a closing sentence that only sends the reader elsewhere.

    `leads`: a list, listing or table that it leads up to is quoted after it. `known` are stems of what title, heading
    and keyword name: "The handle …" is understood where it is about handles.
    """
    sentences = split(text) if len(text) <= MAX_PARAGRAPH else []
    if not sentences or (_LEADS.search(text) and not leads):
        return Standing.UNUSABLE, text
    text = text if leads else without_pointer(text)
    if not (MIN_LEAD_IN_WORDS if leads else MIN_WORDS) <= len(text.split()) or not is_whole(
        text, leads=leads
    ):
        return Standing.UNUSABLE, text
    sentences = split(text)
    return _opening(sentences[0], leads=leads and len(sentences) == 1, known=known), text


def without_pointer(text: str) -> str:
    """All but a closing sentence that only sends the reader elsewhere."""
    sentences = split(text)
    if len(sentences) < 2 or not _is_away(sentences[-1], leads=False):  # noqa: PLR2004
        return text
    return text[: text.rfind(sentences[-1])].rstrip()


def is_whole(text: str, *, leads: bool = False) -> bool:
    """Whether it is prose of a length one reads, ends as it should, and needs nothing that stands elsewhere."""
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
    told = _LEADING_WORDS.sub("", sentence) if leads else sentence
    return points_away(told) or _ELSEWHERE.search(told) is not None


def _opening(sentence: str, *, leads: bool, known: AbstractSet[str]) -> Standing:
    """How the paragraph's first sentence stands, and so the whole."""
    told = _LEADING_WORDS.sub("some", sentence).removesuffix(":") + "." if leads else sentence
    first, space, rest = told.partition(" ")
    if first.islower() and not known.isdisjoint(stems_of(first)):
        # A name that is written so: "asyncio is a library".
        told = f"{first.capitalize()}{space}{rest}"
    found = judge(told, alone=False)
    if found is Standing.INDEPENDENT and (_NARRATOR.match(sentence) or _is_unknown(sentence, known)):
        return Standing.DEPENDENT
    return found


def _is_unknown(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether it speaks of "the" something that neither it nor title, heading or keyword has named."""
    subject = _SUBJECT.match(sentence)
    if subject is None:
        return False
    words = subject[1].split()[:_SUBJECT_WORDS]
    return _SAYS_WHICH.search(" ".join(words)) is None and (known | _KNOWN).isdisjoint(
        stems_of(" ".join(words))
    )
