"""Splits text into sentences, finds those that make sense on their own, and compares them. Pure."""

import re
from enum import Enum
from functools import lru_cache

from writing.body import sentence_spans
from writing.quality import likeness

MIN_WORDS = 6
MAX_WORDS = 60
# Sixty words of prose have about 400 characters; patterns may take the square of the length of a long "word".
MAX_CHARACTERS = 1_000
# Longer texts are data, or lack punctuation; research sends none.
MAX_PARAGRAPH = 20_000
SHINGLE = 3

# Ranking reads each sentence many times, and articles of one brand quote the same passages, so results that depend
# on the text alone are cached. The bounds hold the reading for one long article, in about 3 MB.
_PARAGRAPHS = 256
_SHINGLED = 320
_STEMMED = 1024
_STEMS = 4096
_SENTENCES = 2048


class SentenceContext(Enum):
    """The context that a reader needs to understand a sentence."""

    INDEPENDENT = "independent"
    DEPENDENT = "dependent"  # understood only right after the sentence that precedes it in its source
    UNUSABLE = "unusable"


# After these, a full stop does not end the sentence, against the splitter's model.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:cf|e\.g|i\.e|vs|resp|approx|ca|fig|figs|sect|chap|no|vol|pp|incl)\.$", re.IGNORECASE
)


_LONGEST_ABBREVIATION = 10


@lru_cache(_PARAGRAPHS)
def split(paragraph: str) -> tuple[str, ...]:
    """Returns the sentences of a paragraph, each a verbatim slice; none if it is too long."""
    sentences: list[str] = []
    start: int | None = None
    if len(paragraph) > MAX_PARAGRAPH:
        return ()
    for begin, end in sentence_spans(paragraph):
        start = begin if start is None else start
        text = paragraph[start:end].strip()
        if _ABBREVIATION.search(text, max(0, len(text) - _LONGEST_ABBREVIATION)) or text.count(
            "("
        ) > text.count(")"):
            continue
        sentences.append(text)
        start = None
    if start is not None:
        sentences.append(paragraph[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


_ENDING = re.compile(r"(?<!\.\.)[.!][\"'”’)\]]*$")  # noqa: RUF001 - typographic quotes close sentences
_OPENING = re.compile(r"^[\"'“‘]?\.?(?:[^\W\d_]|\d)")  # noqa: RUF001
# "git2", "wal_level", ".htaccess".
_LOWER_NAME = re.compile(r"^\.[a-z]+\s|^[a-z][\w.-]*[_\d][\w.-]*\s")

# Words that refer to the sentence before them.
_TAKES_UP = re.compile(
    r"^(?:this|that|these|those|it|its|they|their|them|he|she|his|her|such|both(?! \w+ and)|another|other|others|neither|either|"
    r"same|the (?:same|former|latter|other|others|first|second|third|next|last|final|above|previous|preceding|"
    r"reason|result|problem|idea|difference|remaining|rest|resulting|default)|one (?:of|such|way|reason)|"
    r"some of|all of|most of|many of|each of|any of|none of|"
    r"however|therefore|thus|hence|also|moreover|furthermore|additionally|in addition(?! to)|besides|similarly|likewise|"
    r"otherwise|instead(?! of)|conversely|then|next|finally|first|firstly|second|secondly|third|thirdly|lastly|meanwhile|"
    r"consequently|as a (?:result|consequence)|as such|accordingly|nevertheless|nonetheless|still|yet|but|and|or|so|nor|"
    r"because of (?:this|that)|for (?:example|instance|this|that|these|those)|in (?:contrast|fact|particular|other words|"
    r"turn|short|summary|general|practice|effect|essence|any case|this|that|these|those|such|both|either|each case)|"
    r"on the (?:other|one) hand|by (?:contrast|comparison)|indeed|briefly|again|now|fortunately|unfortunately|"
    r"alternatively|specifically|that is|what(?:.s| is) (?:more|worse)|even (?:so|then)|at (?:this|that|the same)|with (?:this|that|these)|"
    r"under (?:this|these|such)|to (?:this|that|do (?:this|that|so)|make this|avoid this|fix this)|after (?:this|that)|"
    r"before (?:this|that)|note|note that|notice|remember|recall|as (?:mentioned|noted|described|discussed|explained|stated|before|above|"
    r"usual|with)|not only|nor|here|there(?:fore|after|by)|once (?:this|that|these)|"
    r"if (?:so|not|it|they|this|that|these|those|none)|when (?:it|they|this|that|these|those)|while (?:it|this)|"
    r"because (?:it|they|this|that)|since (?:it|they|this|that)|although (?:it|they|this|that)|unless (?:it|this)|"
    r"an? (?:similar|different|second|third|further|better|simpler|alternative)|more generally|further|later|"
    r"yes|ok|well|of course|perhaps|only|rather(?! than)|above|below|until (?:this|then)|"
    r"depending on (?:this|that)|given (?:this|that)|the following|following)\b",
    re.IGNORECASE,
)
_DEICTIC = re.compile(
    r"\b(?:this|these|those|such(?! as| that)|aforementioned|in that case)\b", re.IGNORECASE
)

# Sentences that refer the reader elsewhere.
_POINTER = re.compile(
    r"^(?:see|refer to|consult|compare|read more|click|visit|check out|go to|subscribe|sign up)\b"
    r"|\b(?:for|find|contains?|with|provides?|has) (?:some |much )?(?:(?:more|further|additional|full|complete|other)\s+examples?|"
    r"(?:(?:more|further|additional|full|complete|other)\s+)?(?:information|details?|explanations?|discussion))\b"
    r"(?: (?:about|on|see|refer|can|is|are)|\.$|,)"
    r"|\bsee (?:also|below|above|the|there)\b|\b(?:discussed|described|explained|documented|shown|listed|mentioned|noted|given|"
    r"detailed|covered|defined|presented|outlined|summarized|specified) (?:\w+ )?(?:below|above|here|there|earlier|later|elsewhere|next|"
    r"previously|in (?:the )?(?:section|chapter|table|figure|next|previous|following))\b"
    r"|\b(?:tables?|lists?|figures?|sections?|examples?|steps?|commands?|ones?|mentioned) (?:below|above)\b|\b(?:the|as) (?:following|follows)\b|\bnext section\b|\bprevious section\b"
    r"|\bthis (?:section|chapter|page|article|document|manual|appendix|guide|post|tutorial|book|list|table|figure|example)\b"
    r"|\(see\b|; see\b|, see\b|, q\.v\.",
    re.IGNORECASE,
)
_NUMBERED_REFERENCE = re.compile(
    r"\b(?:sections?|chapters?|tables?|figures?|examples?|appendix|part|listing|step|fig\.)\s+(?:[A-Z]\.)?\d|\bAppendix [A-Z]\b",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"all rights reserved|copyright ©|©|cookie policy|newsletter|terms of (?:use|service)|click here|sponsored",
    re.IGNORECASE,
)
# "Specifies the number of ...": the subject is a label outside the sentence.
_SUBJECTLESS = re.compile(
    r"^[A-Z][a-z]+(?:s|es)\s+(?:the|an?|whether|how|if|all|any|each|this|these|one|that|when|which|what|where|to|as|"
    r"up|on|in|by|for|only|no|or|and|information|data|[A-Z]{3,})\b"
)
_PLURAL_SUBJECT = re.compile(
    r"^[A-Z][a-z]+(?:s|es)\s+(?:that|which|when|on|in|by|for|or|and|to|of|where|as)\b"
)
_VERB_LIKE = re.compile(
    r"^(?:specifies|causes|enables|disables|displays|determines|defines|allows|creates|shows|prints|selects|removes|adds|"
    r"indicates|contains|gives|makes|performs|prevents|converts|computes|tells|applies|identifies|represents|includes|"
    r"excludes|skips|deletes|restores|connects|accepts)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|should|does|do|did)\b",
    re.IGNORECASE,
)
_GERUND = re.compile(r"^[A-Z][a-z]{2,}ing\b")
# A hint of a verb suffices: the rule is for short sentences without any.
_VERB = re.compile(
    r"\w(?:s|ed) (?:the|an?|its?|your|their|more|less|by|from|when|if)\b"
    r"|\b(?:use|provide|support|allow|need|make|take|give|get|keep|let|contain|require|help|work|run|mean|come|go|become|"
    r"depend|include|affect|apply|hold|lead|offer|lie|taste|extract)s?\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"^An?\s(?:(?!\b(?:is|are|was|were|has|have|can|may|must|will|should|does|do)\b)[^.,;:]){3,70}?\b(?:that|which|who|whose|where)\b"
)
_RELATIVE_WORD = re.compile(r"\b(?:that|which|who|whose|where|when|if)\b")
_CODE = re.compile(
    r"=>|::|[{}]|\\\w|</|\$\w|\(\)|;\s*$|--\w|[a-z]\.[a-z]+\(|\s/\w+/|[<>=]{2}|\|\||\w\([\w, ]*\) |\w/\w+\.\w"
    r"|\b[A-Z]+ [A-Z]+ [A-Z]+\b|^[A-Z]{2,} [A-Z]{2,}\b|[\w)] Note that\b"
    r"|\bSELECT\b.*\bFROM\b"
    # The source's own citation marks would look like ours.
    r"|\[\d+\]"
    # An address with a user's name and password.
    r"|://[^\s/]*@"
)
_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "and",
        "or",
        "not",
        "for",
        "with",
        "by",
        "on",
        "at",
        "from",
        "as",
        "that",
        "which",
        "can",
        "may",
        "must",
        "will",
        "has",
        "have",
        "had",
        "do",
        "does",
        "it",
        "its",
        "than",
        "if",
        "when",
        "but",
        "you",
        "your",
        "more",
        "most",
        "one",
        "no",
    ]
)
_BRACKETS = {")": "(", "]": "[", "}": "{"}


def rate_context(text: str, *, alone: bool = True) -> SentenceContext:
    """Rates whether a sentence makes sense without the rest of its source.

    `alone`: it will be printed without its paragraph, too, and so has to be plain prose.
    """
    return SentenceContext.UNUSABLE if len(text) > MAX_CHARACTERS else _judged(text, alone)


@lru_cache(_SENTENCES)
def _judged(text: str, alone: bool) -> SentenceContext:
    if (
        not MIN_WORDS <= len(text.split()) <= MAX_WORDS
        or _is_fragment(text)
        or points_away(text)
        or (alone and (_CODE.search(text) or not is_language(text)))
    ):
        return SentenceContext.UNUSABLE
    if _TAKES_UP.match(text.lstrip("\"'“‘")) or _DEICTIC.search(text):  # noqa: RUF001
        return SentenceContext.DEPENDENT
    return SentenceContext.INDEPENDENT


def _is_fragment(text: str) -> bool:
    if not _ENDING.search(text) or not (_OPENING.match(text)) or not balanced(text):
        return True
    if text.lstrip(".")[:1].islower() and not _LOWER_NAME.match(text):
        return True
    if _VERB_LIKE.match(text) or (_SUBJECTLESS.match(text) and not _PLURAL_SUBJECT.match(text)):
        return True
    return _names_without_saying(text)


def _names_without_saying(text: str) -> bool:
    """Whether it is a bare list entry: "Sending the changes." or "A process that is in charge of ..."."""
    if _GERUND.match(text) and not (_FINITE.search(text) or _VERB.search(text)):
        return True
    return _RELATIVE.match(text) is not None and len(_FINITE.findall(text)) <= 1


def is_phrase(text: str) -> bool:
    """Whether it is a noun phrase, as in glossaries: "A tree that is …" is one, "A tree has …" is a sentence."""
    finite = _FINITE.search(text)
    relative = _RELATIVE_WORD.search(text)
    return finite is None or (relative is not None and relative.start() < finite.start())


def points_away(text: str) -> bool:
    """Whether it refers elsewhere, for instance to a numbered part, or belongs to the page and not to its text."""
    return any(each.search(text) for each in (_POINTER, _BOILERPLATE, _NUMBERED_REFERENCE))


def balanced(text: str) -> bool:
    open_brackets: list[str] = []
    for character in text:
        if character in "([{":
            open_brackets.append(character)
        elif character in _BRACKETS and (not open_brackets or open_brackets.pop() != _BRACKETS[character]):
            return False
    quotes_close = text.count('"') % 2 == 0 and text.count("“") == text.count("”")
    return not open_brackets and quotes_close


def is_language(text: str) -> bool:
    """Whether a text is prose: mostly lower-case letters, with function words if the script is Latin."""
    letters = sum(map(str.isalpha, text)) + sum(map(str.isspace, text))
    words = text.split()
    shouted = sum(len(word) > 1 and word.isupper() for word in words)
    small = sum(word.lower().strip(",.") in _COMMON or len(word) <= 3 for word in words)  # noqa: PLR2004
    return letters >= 0.85 * len(text) and shouted <= 0.25 * len(words) and small >= 2  # noqa: PLR2004


def words_of(text: str) -> tuple[str, ...]:
    # An identifier such as wal_level is one word, and does not mention its parts.
    return tuple(likeness.words_of(text))


_SUFFIXES = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ions",
    "ion",
    "ates",
    "ate",
    "ers",
    "er",
    "ied",
    "ies",
    "ed",
    "es",
    "s",
    "e",
    "y",
)
_MIN_STEM = 3


@lru_cache(_STEMS)
def stem(word: str) -> str:
    """Returns a light English stem: scan, scans and scanning become equal."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            word = word[: -len(suffix)]
            break
    doubled = len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls"
    return word[:-1] if doubled else word


@lru_cache(_STEMMED)
def stems_of(text: str) -> tuple[str, ...]:
    return tuple(map(stem, words_of(text)))


@lru_cache(_SHINGLED)
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = words_of(text)
    return frozenset(words[at : at + SHINGLE] for at in range(max(1, len(words) - SHINGLE + 1)))


def jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    both = len(one & other)
    union = len(one) + len(other) - both
    return both / union if union else 0.0
