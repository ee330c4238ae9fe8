"""Judges the sentences that an article may start with: what needs something before it, what only explains its heading. Pure."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from documents.words import stem, stems_of, words_of
from writing.extractive import references

_REMEMBERED: Final = 2048
_READ: Final = 400
"""Characters of a sentence that are looked at."""
_SUBJECT_WORDS: Final = 6
_BEGINNING_WORDS: Final = 8
_ADDS: Final = re.compile(
    r"\b(?:also|another|additional)\b|\b(?:is|are|be) (?:\w+ ){0,3}more \w+\.?$", re.IGNORECASE
)
_TOLD: Final = (
    r"(?:mentioned|described|discussed|seen|explained|introduced|shown|noted|defined|listed|created|chosen)"
)
# It calls back to an example or part before it.
_CALLS_BACK: Final = re.compile(
    r"\b(?:introductory|initial|running|opening|earlier) examples?\b"
    r"|\b(?:examples?|sections?|chapters?|tutorial) (?:showed|described|explained|introduced|demonstrated)\b"
    r"|^(?!.*\b(?:in addition to|not only)\b).*\b(?:is|are|was|were) also (?:\w+ed|shown|possible|available|given|done|made|written|set|used)\b"
    rf"|\b(?:previously|already|earlier)[ -]{_TOLD}\b",
    re.IGNORECASE,
)
# It goes on from a text before it.
_GOES_ON: Final = re.compile(
    rf"\b(?:previously|already|earlier|before|so far|just)[ -]{_TOLD}\b|\b(?:reminder|as a reminder|so far)\b"
    r"|\b(?:previous|preceding|earlier|next|last) (?:sub-?)?(?:sections?|chapters?|pages?|paragraphs?|examples?|steps?)\b"
    r"|^(?:\w+ ){1,4}(?:then|again|instead|therefore)\b|^(?:previously|formerly)\b|^(?:chapter|section|appendix) [\dA-Z]"
    r"|^to (?:\w+ ){1,6}(?:its|their|it|them)\b|^as an? (?:\w+ )?example\b"
    r"|^(?:this|these) (?:\w+ly )?\w+s (?:an?|the|all|any|each|to|\w+ing)\b"
    r"|^(?:this|these) (?:\w+ ){1,2}(?:was|were)\b|^these (?:instructions|steps|notes)\b"
    r"|^optionally, |^the (?:first|second|third|last|other|former|latter)(?: ones?)?, |^(?:to|for|in|with|by|on|at) [^,.;:]{1,80}, (?:they|he|she)\b"
    r"|^[^,.;:]{3,150} having been \w[^,.;:]{0,100},"
    r"|^the (?:first|second|third|next|last|final)(?: \([^()]{1,20}\))?(?: \w+)? (?:step|thing|task|part)s?\b(?! (?:of|to|in|for|towards?)\b)",
    re.IGNORECASE,
)
_FOLLOWING: Final = re.compile(
    r"here (?:is|are) (?:an? |the |some )[^.]{1,200}:$|the following\b(?! (?:\w+ )?\w+ (?:lists?|shows?|describes?|gives?|summari[sz]es?|contains?|illustrates?|explains?)\b)",
    re.IGNORECASE,
)
_BARE_SUBJECT: Final = re.compile(
    r"The ((?:[a-z][\w-]* ){1,3}?)(?:is|are|was|were|has|have|can|may|must|will|should|would)\b"
)
_PRONOUN: Final = re.compile(
    r"(?:its?|this|that|these|those|they|them|their|he|she|his|her|both|such|here|however|but|and|or|so|then|also|therefore|thus|hence|"
    r"otherwise|instead|furthermore|moreover|finally|secondly|next|similarly|likewise)\b",
    re.IGNORECASE,
)
# A step of something, a condition without its matter.
_FIRST_STEP: Final = re.compile(
    r"(?:first|firstly|to (?:begin|start)(?: with)?)(?:,| [a-z]+ (?:the|an?|your)\b)", re.IGNORECASE
)
_CONDITION: Final = re.compile(
    r"(?:assuming|suppos(?:e|ing)|let us|let[’']s|provided) (?:that )?(?:you|we|the|an?|this|your)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_BEFORE_SUBJECT: Final = re.compile(
    r"(?:if|when|whenever|while|once|after|before|since|as|because|although|for|to|by|with|without|from|unless|only|in order)\b",
    re.IGNORECASE,
)
# "By surrounding this list with …": a noun that nothing has named.
_POINTS_AT: Final = re.compile(r"\b(?:this|these|those)\s+([a-z][\w-]*)")
_ITSELF: Final = frozenset(stems_of("command option function setting parameter variable program tool module"))
# What every reader has at hand.
_AT_HAND: Final = frozenset(stems_of("machine computer system host site"))
_CLAUSE: Final = re.compile(r"[,;:—(]| (?:that|which|and|but|so|if|when|because|where) ")
_WARNS: Final = re.compile(
    r"\b(?:dangerous|(?:be )?careful|caution|beware|at your own risk|(?<!\w )(?:do not|don[’']t)|not (?:intended|every)|obsolete|"  # noqa: RUF001
    r"deprecated|reserved for|ensure|make sure)\b"
    r"|\byou (?:should|may want to|might want to) (?:first |also )?(?:start with|begin with|read|see|consult|refer to)\b"
    r"|^(?:first|only)\b|^(?:to|for) (?:see|read|find out|learn) (?:what|how|more)\b|^\w+(?: \w+)?: ",
    re.IGNORECASE,
)
_THIS_THING: Final = re.compile(
    r"This (?:command|option|function|directive|statement|module|parameter|plugin|tool|program|utility|setting|method|task|type|class|property"
    r"|(?:kind|type|sort|form) of \w+|functionality|feature|facility|service|mechanism|report|dialog|window|screen|provider|filter|driver|macro"
    r"|operator|event|object|widget|library|package) "
)
_THIS_IS: Final = re.compile(
    r"This (?:(?:allows|lets|enables|controls|specifies|defines|sets)\b"
    r"|is (?:used\b|(?:an?|the) (?!(?:\w+ ){0,2}(?:example|reason|case|result)\b)))"
)
_DETERMINER: Final = r"(?:an?|the|that (?:an?|the)|if|whether|how|all|any|each|one|some|this|its|true|false)"
_EXPLAINS: Final = re.compile(rf"[A-Z][a-z]+(?<!s)s {_DETERMINER}\b")
_INFINITIVE: Final = re.compile(rf"(?!During)[A-Z][a-z]+ing {_DETERMINER}\b|(?:How|What|When|Where) to [a-z]")
_IN_BRACKETS: Final = re.compile(r"\s\([^()]{0,200}\)")
_RELATIVE: Final = re.compile(r"(?<!\bin)(?<!\bwith)(?<!\bby) (?:which|that|who|whose|where|when) ")
_FINITE: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|shall|should|does|do|did|need|you|we|it|they|i|there|"
    r"these|this|let|please|consists|refers|depends|relies|comes|goes|belongs|applies|stands|acts|works|runs|\w+n[’']t)\b",  # noqa: RUF001
    re.IGNORECASE,
)
# Behind a verb stands its object: "accepts network connections", and not "plugins for".
_WITH_OBJECT: Final = re.compile(
    r" [a-z]\w*(?<![suio])s (?!(?:of|for|with|to|in|on|by|from|at|and|or|as|that|which|about|between|used|using)\b)[A-Za-z‘“\"\d]"  # noqa: RUF001
    r"| \w+(?:ed|te|de|me) (?:an?|the|its|all|early|late)\b"
)
_PHRASE: Final = re.compile(r"An? |The (?!.* (?:which|that|who) )")
_MAX_PHRASE_WORDS: Final = 20
_MAX_THE_WORDS: Final = 14
_MAX_BARE_WORDS: Final = 9
_BARE: Final = re.compile(
    r"(?!(?:In|On|At|By|For|To|From|With|Before|After|If|When|As|Not|No|Every|Most|Many|Some|All|Few) )[A-Z][a-z]+(?<!ly) [^:]+\."
)


def needs_before(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether a sentence cannot stand first. `known` are the stems of the headings above it."""
    first = sentence[:_READ]
    return (
        _GOES_ON.search(first) is not None
        or goes_on(first)
        or is_step(first)
        or _CONDITION.match(first) is not None
        or (references.is_pointer(first) and not _FOLLOWING.match(first))
        or references.is_positional(first, has_above=False, has_below=True)
        or (_has_unknown(first, known) and not is_gloss(first))
    )


def goes_on(sentence: str) -> bool:
    """Whether a sentence speaks of what a text before it has told: "The introductory example showed …"."""
    return _CALLS_BACK.search(sentence[:_READ]) is not None


def _has_unknown(first: str, known: AbstractSet[str]) -> bool:
    """Whether a sentence speaks of a definite thing, away from its subject, that nothing has named."""
    bare = _BARE_SUBJECT.match(first)
    if bare is not None and references.has_unknown_subject(f"The {bare[1]}", known):
        return True
    return points_at_unknown(first, frozenset())


def points_at_unknown(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether a sentence speaks of "this" thing, away from its subject, that neither it nor a heading has named."""
    first = sentence[:_READ]
    pointing = _POINTS_AT.search(first)
    if pointing is None or pointing.start() == 0:
        return False
    before = first[: pointing.start()]
    return _CLAUSE.search(before) is None and stem(pointing[1].casefold()) not in {
        *stems_of(before),
        *_ITSELF,
        *_AT_HAND,
        *known,
    }


def begins_with_pronoun(sentence: str) -> bool:
    """Whether a sentence begins with what stands for something, or joins it to a sentence before it."""
    return _PRONOUN.match(sentence) is not None


def is_step(sentence: str) -> bool:
    """Whether a sentence is the first step of something."""
    return _FIRST_STEP.match(sentence) is not None


def begins_with_condition(sentence: str) -> bool:
    """Whether a sentence starts with when, for what or why something is so, and not with its subject."""
    return _BEFORE_SUBJECT.match(sentence) is not None


@lru_cache(_REMEMBERED)
def is_weak(sentence: str) -> bool:
    """Whether a sentence may stand first, but another one is better: a warning, an errand, a sentence with "also"."""
    beginning = " ".join(sentence.split()[:_BEGINNING_WORDS])
    return _WARNS.search(sentence[:_READ]) is not None or _ADDS.search(beginning) is not None


@lru_cache(_REMEMBERED)
def is_gloss(sentence: str) -> bool:
    """Whether a text is no sentence of its own, but explains the heading above it.

    "A guide to custom themes.", "How to write pages.", "Starts a section of code."
    """
    return _EXPLAINS.match(sentence) is not None or is_phrase(sentence)


def speaks_of_its_heading(sentence: str, *, is_lifted: bool) -> bool:
    """Whether a sentence means the heading above it by "this": "This command fires the kiln.". One that `is_lifted` stands elsewhere."""
    return sentence.startswith("This ") if is_lifted else _THIS_THING.match(sentence) is not None


def says_what_its_heading_is(sentence: str) -> bool:
    """Whether a sentence right below a heading says what that is: "This is a limit on the heat."."""
    return _THIS_IS.match(sentence) is not None


def tells_what_it_does(sentence: str) -> bool:
    """Whether a sentence only lacks the name of the heading above it: "Starts a section of code."."""
    return _EXPLAINS.match(sentence) is not None


@lru_cache(_REMEMBERED)
def is_phrase(sentence: str) -> bool:
    """Whether a text has no verb that says something: "A guide to custom themes.", "How to write pages."."""
    text = _IN_BRACKETS.sub("", sentence[:_READ])
    if _INFINITIVE.match(text):
        return not has_verb(text.partition(",")[0])
    main = _RELATIVE.split(text, 1)[0]
    words = len(main.split())
    most = _MAX_THE_WORDS if text.startswith("The ") else _MAX_PHRASE_WORDS
    if (words <= most and _PHRASE.match(text)) or (
        len(text.split()) <= _MAX_BARE_WORDS and _BARE.fullmatch(text)
    ):
        return not has_verb(main)
    return False


def has_verb(text: str) -> bool:
    """Whether a text says something of its subject."""
    # Not by its first word: "Recreate the contents of an archive." has no subject.
    return _FINITE.search(text) is not None or _WITH_OBJECT.search(text) is not None


def speaks_of(keyword: Sequence[str], sentence: str) -> bool:
    """Whether a sentence has all of the keyword's stems in its first words."""
    return frozenset(keyword) <= frozenset(map(stem, words_of(sentence[:_READ])[:_SUBJECT_WORDS]))
