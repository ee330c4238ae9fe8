"""Finds sentences that refer to text outside an excerpt: pointers, dangling references, sentences that continue another. Pure."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from documents.words import COMMON_STEMS, stem, stems_of, words_of

MAX_CHARACTERS: Final = 1_500
"""Longer sentences are no prose; none of them is quoted."""
_REMEMBERED: Final = 4096

_PART: Final = (
    r"(?:sub-?section|section|chapter|page|document|manual|appendix|guide|article|tutorial|book|part|howto|faq|post|node|"
    r"lesson|reference|paper|text)"
)
# Works that an article is not.
_WORK: Final = r"(?:chapter|manual|appendix|tutorial|book|howto|faq|lesson|reference|paper)"
_TOLD: Final = (
    r"(?:mentioned|described|shown|discussed|explained|introduced|defined|seen|noted|listed|given|presented|outlined|"
    r"covered|detailed|documented|specified|stated|created|summari[sz]ed)"
)
_NEAR: Final = (
    r"(?:examples?|commands?|code|tables?|figures?|lists?|listings?|scripts?|pictures?|diagrams?|functions?|files?|steps?|notes?|"
    r"discussion|options?|ones?)"
)
# A pure pointer, or talk of the page about itself: nothing is lost without it.
# "For instance, the mode allows to read and write" and "You should see a flame" are matter.
_INFORMATION: Final = r"(?:information|details?|documentation|examples?|explanations?|instructions|discussions?|descriptions?|background)"
_POINTER: Final = re.compile(
    rf"^(?:note: |please |also |and |but |you (?:may|can|should|might) (?:also |(?:also )?(?:want|wish) to )|(?:if|in case|for) .{{1,120}}?, "
    rf"|for (?:\w+ ){{0,4}}(?:help|{_INFORMATION})(?: (?:on|about|of|see) .{{1,80}}?)? )?(?:please )?"
    r"(?:see|refer to|consult|cf\.|check out|take a look at|have a look at)\b(?![,.:;] | (?:and|only|or)\b)"
    r"|^you (?:may|can|should|might) (?:refer to|consult|check out|(?:take|have) a look at)\b"
    # A lower-case "read", as an option of a program is explained, is matter, too.
    r"|^(?:(?:please |also |(?:if|in case|for) .{1,120}?, (?:please )?)read|(?-i:Read))\b"
    r"(?! (?:it|them|and|only|or|access|permission|from|data)\b| the Docs\b)"
    r"|^(?:to|for|if|in case|in order to) [^,]{1,120}, (?:please )?(?:see|refer to|consult)\b"
    # "Look at the grooves in the rubber" is a step.
    rf"|^(?:please )?look at (?:\w+ ){{0,4}}(?:{_PART}|documentation|examples?|files?)s?\b"
    rf"|^(?:it is )?the (?:purpose|aim|goal|scope) of (?:this|the present) {_PART}\b"
    r"|^(?:additional|other|further|later|subsequent) (?:chapters|sections|pages) \w"
    rf"|^more (?:on|about)\b|^(?:for(?! (?:example|this|these|that|each|every)\b)|to (?:find|get|learn|read)) (?:\w+ ){{0,4}}(?:{_INFORMATION}|(?:more|further)(?: (?:on|about)\b|[,.]))"
    r"|^(?:more|further|additional|full|complete|detailed|some) (?:\w+ ){0,2}(?:information|details?|documentation|examples?|explanations?) "
    r"(?:on|about|for|can|is|are|of|and)\b"
    rf"|^(?:in )?(?:this|the (?:following|next|present|rest of this|remainder of this)) (?:\w+ )?{_PART}s?\b"
    rf"|^(?:the|this|these) (?:\w+ ){{0,3}}{_PART}s? (?:below )?"
    r"(?:describes?|explains?|covers?|lists?|discuss(?:es)?|documents?|shows?|presents?|deals?|provides? only)\b"
    r"|^(?:here|below|following) (?:is|are|we|follows?|you)\b|^the following\b|^(?:what follows|there follows)\b"
    rf"|^(?:as |like )?(?:an? |the )?(?:[\w-]+ ){{0,8}}(?:is|are|can be) (?:also )?(?:{_TOLD}|found|available) (?:in detail )?"
    rf"(?:in|at|on|under|by) (?!\w+ parts\b)(?:(?:the |their |its |a )?(?:\w+ ){{0,4}}{_PART}s?\b|(?:table|figure) \d)"
    r"|^(?:now )?(?:we|let us|let's|i)(?:'ll| will| shall)? (?:now |also |then |first |next |only )?(?:discuss|describe|explain|present|examine)\b"
    # "We see it every week" and "We cover the beds" are matter.
    r"|^(?:(?:now )?(?:let us|let's)|now (?:we|i)|(?:we|i)(?:'ll| will| shall)|we (?:now|also|then|first|next|only)) (?:now |also |then |first |next |only )?"
    r"(?:see|look|turn|cover|show|start|give|focus|talk|review|return)\b"
    r"|^(?:now )?(?:we|i) (?:see|look at|show|talk about|review|return to) (?:how|what|why|here|below|in (?:this|the (?:next|following)))\b"
    r"|^(?:click|visit|subscribe|sign up|go to|back to|return to|read more|jump to)|^(?:next|previous|up): [^.]*$"
    r"|\b(?:all rights reserved|cookie policy|newsletter|terms of (?:use|service)|click here|sponsored)\b|©|^copyright\b"
    r"|^(?:changed|new|added|deprecated|removed) (?:in|since) (?:version|release|\w+ v?\d)"
    r"|^this \w+ was (?:introduced|added) in (?:version |release )?(?:\w+ )?v?\d[\d.]*$",
    re.IGNORECASE,
)
# It holds matter, and refers to a place by its number or its position.
_NUMBERED: Final = re.compile(
    r"\b(?:sections?|chapters?|tables?|figures?|examples?|appendix|appendices|listings?|fig\.|step)\s+(?:[A-Z]\.)?\d"
    r"|\bappendix [A-Z]\b|\b(?:see|cf\.)(?: also)?(?: the)? (?:section|chapter|appendix|page)\b|§",
    re.IGNORECASE,
)
# Pictures are never shown, even where the page with them is.
_FIGURE: Final = re.compile(
    r"\b(?:figures?|fig\.|diagrams?|pictures?|screenshots?|plots?|plates?) \(?\d", re.IGNORECASE
)
_NUMBERED_TABLE: Final = re.compile(r"\b(?:table|figure) \d", re.IGNORECASE)
# Type that text loses: "C: is a client's request (bold font)".
_TYPE: Final = r"(?:in )?(?:(?:a )?(?:bold(?:face)?|italics?)(?: font| type| text| face)?)"
_BY_TYPE: Final = re.compile(
    rf"\b(?:shown|set|printed|displayed|marked|highlighted|are|is) {_TYPE}\b|\({_TYPE}\)", re.IGNORECASE
)
# What only says where else something stands, with what it stands behind.
_POINTING: Final = re.compile(
    rf" ?\((?:shown )?{_TYPE}\)|"
    r" ?\((?:(?:for|more|e\.g\.|also|please|but)\b[^();]{0,80}? )?(?:see|cf\.?|refer to|follow|described|explained|shown)\b"
    r"(?:[^()]|\([^()]{0,20}\)){0,160}\)"
    rf"|,? (?:as|and|which|that) (?:is |are |was )?(?:also )?{_TOLD} (?:\w+ )?(?:in|at|on|under|by|below|above|next|later)\b"
    r"(?:[^.;:()]|\.(?=\d)){0,120}(?=\.(?: |$))"
    r"|[,;] (?:but |and )?(?:please |also )?(?:see|refer to)\b(?! (?:if|whether|how|what|that))(?:[^.;:()]|\.(?=\d)){1,160}(?=\.(?: |$))",
    re.IGNORECASE,
)
# "Then proceed as described below": without its clause, nothing is said.
_NEEDS_HOW: Final = re.compile(
    r"\b(?:proceed|continue|go on|carry on|is|are|be|appears?|looks?|works?)$", re.IGNORECASE
)
_SUBORDINATE: Final = re.compile(
    r"(?:to|in order to|if|in case|for|when|while|once|before|after|although|because)\b", re.IGNORECASE
)
_TO_A_PLACE: Final = re.compile(
    r"(?:\b(?:see|visit|read|review|consult|in|under|within|at|using|following|to|by|sections?|chapters?)|[\"“‘])\s*$",  # noqa: RUF001
    re.IGNORECASE,
)
_PLACE_NAME: Final = re.compile(r"[A-Z][\w'’.-]*(?: \S+)+")  # noqa: RUF001
_TOLD_AT: Final = re.compile(rf"\b{_TOLD} (?:\w+ )?(?:in|at|under|within) (?:the )?$", re.IGNORECASE)
_ABOVE: Final = re.compile(
    r"(?<!from )(?<!\d and )(?<!\d or )\babove(?=[.,;:)]|$)|\bthe above\b|\babove(?:-| )mentioned\b|\baforementioned\b|\bas (?:above|before)\b"
    r"|\b(?:notice|noticed|see|seen|saw|note) (?:\w+ )?above\b"
    rf"|\b{_NEAR} above\b|\babove {_NEAR}\b|\b{_TOLD} (?:above|earlier|previously)\b|\bas {_TOLD} (?:before|already)\b"
    r"|\bthe (?:previous|preceding|last|above|first|second) (?:(?:few|two|three|several) )?(?:paragraph|table|example|command)s?\b"
    r"|\bin the (?:proposed|given|described) (?:scenario|setup|situation)\b",
    re.IGNORECASE,
)
_BELOW: Final = re.compile(
    rf"(?<!out )(?<!from )(?<!down )(?<!\d and )(?<!\d or )\bbelow(?=[.,;:)]|$)|\bas below\b|\b{_NEAR} below\b|\bbelow {_NEAR}\b|\b{_TOLD} (?:below|later|next|here|further (?:on|down))\b"
    r"|\bthe (?:next|following) (?:(?:few|two|three|several) )?(?:paragraph|table|example|command)s?\b",
    re.IGNORECASE,
)
# A place of the same page: there for readers of the whole page.
_NEIGHBOUR: Final = re.compile(
    r"\bthe (?:previous|preceding|next|following|earlier|above) (?:(?:few|two|three|several) )?(?:sub-?section|section|page)s?\b"
    r"|\bthe (?:end|beginning|start|rest|remainder|bottom|top) of this (?:sub-?section|section|page|document|article|guide)\b"
    rf"|\bas (?:we|i)(?:'ve| have| had)? (?:just |already |previously )?(?:saw|seen|know|{_TOLD}|learned|did)\b"
    rf"|\b{_TOLD} (?:elsewhere|in (?:the )?(?:previous|next|preceding|following|earlier|last))\b"
    rf"|\b(?:{_NEAR}|remarks?) (?:\w+ ){{0,4}}from above\b"
    r"|\b(?:earlier|later|elsewhere|further) in (?:this|the|our)\b|\bsections? (?:above|below)\b|\b(?:above|below) sections?\b"
    r"|\b(?:we|you)(?:'ll| will| shall) (?:\w+ ){1,3}(?:later|shortly|further on)\b|\bsee (?:later|earlier|further (?:on|down))\b",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"\bthe (?:previous|preceding|next|following|earlier|above) (?:(?:few|two|three|several) )?(?:figure|chapter|diagram)s?\b"
    r"|\b(?:the|our) (?:section|chapter|page|guide|article) (?:on|about|titled|called|named|entitled)\b|\bother chapters\b"
    r"|\bin (?:previous|preceding|earlier|next|later) chapters?\b"
    rf"|\bthis {_WORK}\b(?! (?:number|size|cache|table|fault|break|of))|\bin (?:chapters?|sections?) (?:of|on)\b|\bsee (?:the )?sidebar\b"
    r"|\b(?:the|this) (?:figure|diagram|graph|picture|screenshot|image|plot)s? (?:shows?|above|below|illustrates?|depicts?|contains?)\b",
    re.IGNORECASE,
)
# A listing has none of them.
_NAMES_BELOW: Final = re.compile(
    r"\b(?:names?|options?|values?|keywords?|flags|settings|parameters|items|entries) (?:(?:listed|given) )?below\b",
    re.IGNORECASE,
)
# What a sentence before has told of: "Use it to verify the given priorities."
_GIVEN: Final = re.compile(r"\bthe (?:given|said|resulting|corresponding|respective) \w", re.IGNORECASE)
_EXAMPLE: Final = re.compile(
    r"\b(?:this|that|our|these|both) (?:(?:\w+ )?examples?|sample|output|listing|snippet|script|session|transcript)\b|\blines? \d+\b"
    r"|\bthe (?:examples?|sample|listing|snippet|transcript)\b|\bthis (?:configuration(?! file)|code|command line|excerpt|query)\b",
    re.IGNORECASE,
)
# Words with which a sentence leads up to what follows.
_PROMISE: Final = re.compile(
    r":$|\b(?:the|these) following\b|\bas follows\b|^(?:here|these|below) (?:is|are)\b", re.IGNORECASE
)
_COUNT: Final = re.compile(
    r"\b(?:[2-9]|two|three|four|five|six|seven|eight|nine|ten|several|a few|a couple of|some|a number of|various|different) (?:\w+ ){0,3}\w+s"
    r"(?: (?:\w+ ){0,4}\w+)?\.$",
    re.IGNORECASE,
)
# "It is possible to fire twice": nothing before it is meant.
_IMPERSONAL: Final = (
    r"(?! (?:is|was|may be|can be|might be) (?:\w+ ){0,2}?(?:possible|impossible|important|necessary|useful|helpful|recommended|advisable|"
    r"common|easy|easier|hard|difficult|best|better|good|worth|worthwhile|safe|wise|essential|convenient|sufficient|tempting) (?:to|that|for)\b)"
)
_DEPENDENT: Final = re.compile(
    rf"^(?:this|that|these|those|it{_IMPERSONAL}|its|they|their|them|he|she|his|her|such|both(?! (?:\w+ ){1, 4}and\b)|another|others?|neither|either|"
    r"same|the (?:same|former|latter|others?|second|third|next|last|final|above|previous|preceding|reason|result|problem|"
    r"difference|remaining|rest|resulting|explanation|answer|solution)|one (?:of (?:these|them|those)|such|way|reason)|(?:some|all|most|many|each|any|none|either|both) of (?:the(?:se|m)|those)|"
    r"however|therefore|thus|hence|also|moreover|furthermore|additionally|in addition(?! to)|besides(?=,)|similarly|likewise|"
    r"otherwise|instead(?! of)|conversely|then|next|finally|secondly?|thirdly?|lastly|meanwhile|consequently|"
    r"as a (?:result|consequence)|as such|accordingly|nevertheless|nonetheless|still|yet|but|and|or|so|nor|because of (?:this|that)|"
    r"among (?:other things|these|them|those)|for (?:example|instance|this|that|these|those)|in (?:contrast|fact|particular|other words|turn|short|addition|effect|any case|"
    r"this|that|these|those|such|both|either|each|the (?:first|second|former|latter|same|other))|on the (?:other|one) hand|by (?:contrast|comparison)|"
    r"indeed|again|now(?! that\b)|alternatively|specifically|that is|what(?:.s| is) (?:more|worse)|even (?:so|then)|at (?:this|that|the same)|"
    r"with (?:this|that|these|either)|under (?:this|these|such)|to (?:this|that|do (?:this|that|so)|avoid this|fix this)|"
    r"(?:after|before|from|without|using|like|unlike) (?:this|that|these|those|it|them)\b|as (?:mentioned|noted|described|discussed|explained|stated|before|above|you can see|shown)|"
    r"an example (?:is|are|would be)|not only|here|there(?:fore|after|by)|once (?:this|that|these|it)|(?:if|when|while|because|since|although|unless|until) (?:so|not|it|they|this|that|these|those|none|he|she)\b|"
    r"an? (?:similar|different|second|third|further|better|simpler|alternative)|more generally|further|later|yes|ok|well|of course|"
    r"(?:with|for|in|on|at|under|as|unlike|compared to) [^,.;:]{1,80}, (?:this|that|these|those) (?:is|was|are|were|has|had|can|means|makes)|"
    r"perhaps|rather(?! than)|above|below|depending on (?:this|that)|given (?:this|that)|we (?:instead|then|also|now)|you (?:then|also|now|should now))\b",
    re.IGNORECASE,
)
# What the heading above asks of: "Is it ready?" "When it is dark, …".
_ASKED_ABOUT: Final = re.compile(
    r"^(?:(?:if|when|while|once|because|since|although|unless|until|after|before) )?(it|they)\b",
    re.IGNORECASE,
)
# "This closely resembles …" is not of it.
_OF_ITS_HEADING: Final = re.compile(r"^(?:this|these) (?!\w+ly )\w", re.IGNORECASE)
_BEGINNING: Final = 120
_ITSELF: Final = frozenset(
    stems_of(
        "command option function directive parameter variable setting module program tool utility statement method "
        "kind type sort form class feature functionality facility service mechanism property attribute plugin driver provider filter "
        "report dialog window screen tab menu button field macro operator keyword clause event object element widget library package"
    )
)
_QUALIFIES: Final = re.compile(
    r"^(?:however|but|yet|unless|except|only|still|though|although|otherwise|(?:please )?note|beware|be careful|"
    r"conversely|on the other hand|that said|unfortunately|the exception)\b",
    re.IGNORECASE,
)
_ADDS: Final = re.compile(r"\b(?:also|another|further|still|additional|other|remaining)\b", re.IGNORECASE)
_ADDS_WITHIN: Final = 8
_DEFINITE: Final = re.compile(r"^(?:The|That|Those|All)\s+(.{1,120})", re.DOTALL)
_SAYS_WHICH: Final = re.compile(
    r"\b(?:of|that|which|who|whose|where|between|for|in|on|from|to|at|with|by)\b|[A-Z_`(“\"]|\d|\w-\w"
)
_SUBJECT_WORDS: Final = 5
_COMPANY: Final = re.compile(
    # Not of a longer name: "Potters Supply Corp".
    r"(?:(?<![A-Za-z] )|\b(?:[a-z]{1,20}|The|At|In|For|By) )\b([A-Z][a-z]{2,20}) (?:Corp|Inc|Ltd|GmbH|LLC)\b"
    r"|\b(?:[Tt]he|[Mm]any|[Aa]ll|of|by|at|for) ([A-Z][a-z]{2,20}) (?:administrators|engineers|employees|staff|headquarters)\b"
)
_COMPANY_WORDS: Final = (
    "Corp", "Inc", "Ltd", "GmbH", "LLC", "administrators", "engineers", "employees", "staff", "headquarters",
)  # fmt: skip
"""One of these is in every text that names a company so; to look for them takes a fraction of the pattern's time."""
_CREDENTIALS: Final = re.compile(r"://[^\s/@]{1,200}@")
_KNOWN: Final = frozenset(
    stems_of("user system computer internet network kernel shell administrator default program")
)
_LEADING_WORDS: Final = re.compile(
    r"\b(?:(?:(?:the|these|this) )?following(?! (?:chapter|(?:sub-?)?section|page|figure))|as follows|below|like (?:this|these)|"
    r"(?:this|these)(?=:?$)|here (?:is|are)|the (?:example|command|output)s?)\b",
    re.IGNORECASE,
)


@lru_cache(_REMEMBERED)
def is_pointer(sentence: str) -> bool:
    """Whether a sentence only sends the reader elsewhere, or speaks of its page: "See the manual for details."."""
    return _POINTER.search(sentence) is not None


@lru_cache(_REMEMBERED)
def is_positional(sentence: str, *, has_above: bool, has_below: bool, is_whole: bool = False) -> bool:
    """Whether a sentence refers to a place by its position that is not shown: "the table above", "as we saw".

    Args:
        sentence: as it is in the source.
        has_above: the text before it in its section is shown.
        has_below: a list, listing or table behind it in its section is shown.
        is_whole: its page or section is shown from beginning to end.
    """
    return (
        _ELSEWHERE.search(sentence) is not None
        or (not is_whole and _NEIGHBOUR.search(sentence) is not None)
        or (not has_above and _ABOVE.search(sentence) is not None)
        or (not has_below and _BELOW.search(sentence) is not None)
    )


def points_at_table(sentence: str) -> bool:
    """Whether a sentence only says which table or figure has it; where those are shown, they have no numbers."""
    return _NUMBERED_TABLE.search(sentence) is not None and is_pointer(sentence)


def speaks_of_names_below(sentence: str) -> bool:
    """Whether a sentence needs a list or table behind it: "one or more of the options below"."""
    return _NAMES_BELOW.search(sentence) is not None


def speaks_of_given(sentence: str) -> bool:
    """Whether a sentence refers to a subject of the one before it: "the given priorities"."""
    return _GIVEN.search(sentence) is not None


def speaks_of_type(text: str) -> bool:
    """Whether a text tells what bold or italic type means, which an article does not show."""
    return _BY_TYPE.search(text) is not None


def is_all_of_type(text: str) -> bool:
    """Whether all of a short text tells what bold or italic type means."""
    return speaks_of_type(text) and not re.search(r"[.!?] ", text)


def companies_in(texts: Iterable[str]) -> frozenset[str]:
    """Returns the names of companies that texts speak of by name alone, as a book does of the one in its examples."""
    return frozenset(
        match[1] or match[2]
        for text in texts
        if any(word in text for word in _COMPANY_WORDS)
        for match in _COMPANY.finditer(text)
    )


@lru_cache(_REMEMBERED)
def is_numbered(sentence: str) -> bool:
    """Whether a sentence refers to a part by its number: "section 4.2"."""
    return _NUMBERED.search(sentence) is not None


def needs_figure(text: str) -> bool:
    """Whether a text refers to a picture by its number: "figure 17"."""
    return _FIGURE.search(text) is not None


def promises(sentence: str, *, has_more: bool) -> bool:
    """Whether a sentence leads up to what must follow.

    `has_more`: the source continues. Then "There are two ways to do this." is a promise, too.
    """
    return _PROMISE.search(sentence) is not None or (has_more and _COUNT.search(sentence) is not None)


def has_credentials(text: str) -> bool:
    """Whether a text has an address with a user's name and password."""
    return "@" in text and _CREDENTIALS.search(text) is not None


def pointing_parts(text: str) -> list[tuple[int, int]]:
    """Returns the (begin, end) of brackets and last clauses of sentences that only point: "(see section 4)"."""
    parts = (match.span() for match in _POINTING.finditer(text))
    return [
        (begin, end) for begin, end in parts if text[begin:end].endswith(")") or _says_something(text[:begin])
    ]


def pointing_brackets(sentence: str) -> list[tuple[int, int]]:
    """Returns the (begin, end) of the brackets of a sentence that only point."""
    if "(" not in sentence:
        return []
    return [(begin, end) for begin, end in pointing_parts(sentence) if sentence[begin:end].endswith(")")]


def without_pointing(sentence: str) -> str:
    """Returns a sentence without its brackets that only point."""
    for begin, end in reversed(pointing_brackets(sentence)):
        sentence = sentence[:begin] + sentence[end:]
    return sentence


def _says_something(beginning: str) -> bool:
    """Whether a sentence says something without its last clause: neither "Then proceed" nor "To turn it on"."""
    return _NEEDS_HOW.search(beginning) is None and ("," in beginning or not _SUBORDINATE.match(beginning))


def is_place_name(before: str, linked: str) -> bool:
    """Whether linked words are the title of a page or section: "in" before "Structural Authentication"."""
    is_title = _PLACE_NAME.fullmatch(linked) is not None and _TO_A_PLACE.search(before) is not None
    return is_title or (linked[:1].isupper() and _TOLD_AT.search(before) is not None)


def needs_listing(sentence: str, *, is_whole: bool = False) -> bool:
    """Whether a sentence speaks of a neighbouring listing: "This example …".

    `is_whole`: its page or section is shown from beginning to end, so that "the examples" are those on it.
    """
    found = _EXAMPLE.search(sentence)
    return found is not None and not (is_whole and found[0].casefold() == "the examples")


def without_lead(sentence: str) -> str:
    """Returns a lead-in without the words that announce what follows, which is shown with it."""
    return _LEADING_WORDS.sub("", sentence)


def qualifies(sentence: str) -> bool:
    """Whether a sentence limits the one before it, which would claim too much without it."""
    return _QUALIFIES.match(sentence) is not None


def adds(sentence: str) -> bool:
    """Whether a sentence adds to something before it, by its first words: "There is also …"."""
    return _ADDS.search(" ".join(sentence.split()[:_ADDS_WITHIN])) is not None


def is_dependent(sentence: str, heading: AbstractSet[str] = frozenset()) -> bool:
    """Whether a sentence continues one before it: "It …", "However, …".

    `heading` are the stems of the headings above it: under "The reload command", "This command …" stands alone, and "When it is
    dark …" under "Is it ready?".
    """
    text = sentence.lstrip("\"'“‘(")  # noqa: RUF001 - typographic quotes
    if _DEPENDENT.match(text) is None:
        return text.startswith(("…", "..."))
    asked = _ASKED_ABOUT.match(text)
    if asked is not None and asked[1].casefold() in heading:
        return False
    if not _OF_ITS_HEADING.match(text):
        return True
    return (heading | _ITSELF).isdisjoint(map(stem, words_of(text[:_BEGINNING])[1 : 1 + _SUBJECT_WORDS]))


def has_unknown_subject(sentence: str, known: AbstractSet[str]) -> bool:
    """Whether a sentence speaks of "the" thing that neither it nor the text with the stems `known` has named."""
    subject = _DEFINITE.match(sentence)
    if subject is None:
        return False
    words = " ".join(subject[1].split()[:_SUBJECT_WORDS])
    stems = {stem(word) for word in words_of(words)} - COMMON_STEMS
    return _SAYS_WHICH.search(words) is None and (known | _KNOWN).isdisjoint(stems)
