"""The description of an article, in sentences of its own text. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from documents.blocks import Block, Definitions, ItemList, Paragraph
from documents.words import is_definition, stems_of
from writing.article import MAX_META_DESCRIPTION
from writing.extractive import openings
from writing.extractive.mending import ELLIPSIS
from writing.extractive.references import is_dependent, is_positional, needs_listing, without_lead
from writing.extractive.sentences import spans, split
from writing.extractive.titles import cut

_SHORT: Final = 50
"""Below it, a whole sentence says too little."""
_SHORTEST: Final = 35
"""Below it, another sentence that is cut says more."""
_CLAUSE_AFTER: Final = 60
_ENDS: Final = (".", "!", "?")
# Places to end a long sentence, the best kind first.
_PLACES: Final = tuple(
    map(
        re.compile,
        (
            r"[;:]\s|\s[–—-]\s|\s\((?![A-Z]{2,8}\))|, (?:which|because|and|so|but|where|while|who|whose|although|since)\b",  # noqa: RUF001
            r"\s(?:that|which|who|whose|where|because|while|if|when|unless|until)\s",
            r", (?=[a-z])",
            r"\s(?:for|with|by|in|on|from|as|than|after|before|without|between|and|or)\s",
        ),
    )
)
_DANGLING: Final = re.compile(
    r"(?:,? (?:in the (?:sense|way|case|event)|in such a way|so|such|in|by|with|for|to|of|from|on|at|under|and|or))+$"
)
# What goes before the main clause of a sentence.
_BEFORE_MAIN: Final = re.compile(
    r"(?:before|after|when|whenever|if|since|although|though|because|while|as|once|in order to|to|with|from|by|unless|upon)\b",
    re.IGNORECASE,
)
# A lead-in to a list that says nothing without it: "Kilns can be either…".
_DANGLES: Final = re.compile(r"\b(?:(?:can|may|must|will|should|to) \w+|either|is|are|be|has|have)…$")
# Another sentence than the first one is no description of the whole if it begins so.
_ASIDE: Final = re.compile(
    r"(?:in|on|at|under|during|even|note|use|see|remember|each|any|some|only|not|simply|without|like|unlike|its)\b",
    re.IGNORECASE,
)
# Talk of the document about itself.
_OF_ITSELF: Final = re.compile(
    r"\bthis (?:how-?to|page|document|section|chapter|guide|article|manual|tutorial|book)\b", re.IGNORECASE
)
# Behind such a word, the point of a sentence comes.
_NO_END: Final = re.compile(
    r"\b(?:except|other than|unless|not|without|only|at least|identified|known|given|made|done|such|both|either|whether|if|than)$"
)
_NAME_OF_CODE: Final = re.compile(r"\b[A-Z\d]{1,40}_\w+,?")
_ANNOUNCEMENT: Final = re.compile(
    r"(?:the following|below|here (?:is|are)|first,? let us|let us|there are (?:\w+ ){0,4}(?:ways|steps|options|kinds|types|methods|things)\b)"
    r".*…$|[^.]{3,60} (?:is|are)…$",
    re.IGNORECASE,
)
_LAST_CLAUSE: Final = re.compile(r"[;:]\s+(?=[^;:]*$)")
_GOES_ON: Final = re.compile(
    r"\b(?:however|fortunately|unfortunately|though|for example|instead)\b", re.IGNORECASE
)


def description(blocks: Sequence[Block]) -> str:
    """Returns the first whole sentences, up to 155 characters; a long first one ends at a clause.

    A sentence that leads up to a list is left out, or ends before its colon.
    """
    text = ""
    for block in blocks:
        if not isinstance(block, Paragraph):
            break
        for sentence in split(block.text):
            if len(text) >= _SHORT and (sentence == ELLIPSIS or not sentence.endswith(_ENDS)):
                return text
            longer = f"{text} {sentence}" if text else sentence
            if len(longer) > MAX_META_DESCRIPTION:
                return text if len(text) >= _SHORTEST else _cut_clause(longer)
            text = longer
        if len(text) >= _SHORTEST or not text.endswith(_ENDS):
            break
    return text if not text or text.endswith(_ENDS) else _cut_clause(text.rstrip(" :,;") + "…")


def description_of(
    parts: Sequence[Sequence[Block]], keyword: Sequence[str], *, is_explained: bool = False
) -> str:
    """Returns the first sentences, or rather a later one that says what the keyword (its stems) is.

    Args:
        parts: the blocks of each part of an article, the opening first.
        keyword: its stems.
        is_explained: whether the first paragraph only explains a term that is in front of it.
    """
    opening = [*_from_first_sentence(parts[0])] if is_explained else [*parts[0]]
    text = description(opening)
    is_poor = (
        not text or _is_poor(text, frozenset(keyword)) or (is_explained and _ASIDE.match(text) is not None)
    )
    if text.endswith(_ENDS) and not is_poor:
        return text
    others = (block for part in parts[1:] for block in [*part][:1])
    rated = [
        (is_definition(keyword, each), openings.speaks_of(keyword, each), each.endswith(_ENDS), -at, each)
        for at, each in enumerate(_sentences((*opening, *others)))
    ]
    defines, speaks, is_whole, _, best = max(rated, default=(False, False, False, 0, ""))
    is_named = frozenset(keyword) <= {*stems_of(text)} and not openings.begins_with_condition(text)
    is_better = (
        is_whole and not is_named and not text.endswith(_ENDS) and not openings.begins_with_condition(best)
    )
    if defines or (speaks and (is_poor or is_better)):
        return best
    whole = [each[-1] for each in rated if each[-1].endswith(_ENDS)]
    naming = next((each for each in whole if frozenset(keyword) <= {*stems_of(each)}), "")
    if _ANNOUNCEMENT.match(text) and not is_explained:
        # "The following hints may help:" says nothing without the first of them.
        first = _first_item(opening[1]) if len(opening) > 1 else ""
        if len(first) >= _SHORT:
            return _cut_clause(first)
    is_broken_off = _DANGLES.search(text) is not None or (not is_explained and _is_unfinished(text))
    is_only_explained = is_explained and not text
    if (
        not text.endswith(_ENDS)
        and not is_only_explained
        and ((naming and not is_named) or (whole and is_broken_off))
    ):
        return naming or whole[0]
    if rated and not opening:
        # A line under the title, and then sections: the first of them begins to say something.
        return rated[0][-1]
    return description(parts[0]).rstrip("…") if is_explained and is_poor else text


def entry_description(name: str, paragraph: Paragraph) -> str:
    """Returns "Kiln::fire: Fires the clay." from a paragraph that explains a name; "" if its first sentence does not."""
    text = ""
    for sentence in split(paragraph.text):
        longer = f"{text} {sentence}" if text else f"{name}: {sentence}"
        if len(longer) > MAX_META_DESCRIPTION or not sentence.endswith(_ENDS):
            break
        text = longer
    return text if openings.tells_what_it_does(paragraph.text) else ""


def _from_first_sentence(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yields the blocks without what only explains a title at their beginning: "Postfix control program"."""
    first, *others = blocks
    sentences = spans(first.text) if isinstance(first, Paragraph) else ()
    if not isinstance(first, Paragraph) or not sentences:
        yield from others
        return
    begin, end = sentences[0]
    if first.text[begin:end].endswith(_ENDS) and not openings.is_phrase(first.text[begin:end]):
        yield first
    elif len(sentences) > 1:
        yield Paragraph(first.text[sentences[1][0] :])
    yield from others


def _first_item(block: Block) -> str:
    """Returns the first sentence of a list; "" of anything else."""
    inner = (
        block.items[0].blocks
        if isinstance(block, ItemList)
        else block.entries[0].blocks
        if isinstance(block, Definitions)
        else ()
    )
    first = inner[0] if inner else None
    sentence = next(iter(split(first.text)), "") if isinstance(first, Paragraph) else ""
    return sentence if sentence.endswith(_ENDS) else ""


def _sentences(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields the sentences that stand alone, long ones up to a clause."""
    for block in blocks:
        for sentence in split(block.text) if isinstance(block, Paragraph) else ():
            text = _cut_clause(sentence)
            if (
                len(text) >= _SHORT
                and sentence.endswith((".", "!"))
                and text[0].isupper()
                and not _is_poor(text)
                and not _BEFORE_MAIN.match(text)
                and not _ASIDE.match(text)
                and not _GOES_ON.search(text)
                and not is_dependent(sentence)
                and not needs_listing(sentence)
                and not is_positional(sentence, has_above=False, has_below=False)
            ):
                yield text


def _is_poor(text: str, known: AbstractSet[str] = frozenset()) -> bool:
    """Whether a description needs missing text, or breaks off before it says something."""
    first, *_ = split(text) or (text,)
    if openings.is_weak(text) or openings.needs_before(first, known) or _OF_ITSELF.search(first):
        return True
    if text.endswith(_ENDS):
        return False
    is_lead = len(text) > _CLAUSE_AFTER and without_lead(text) != text
    return is_lead or _is_unfinished(text)


def _is_unfinished(text: str) -> bool:
    """Whether a beginning of a sentence has no main clause."""
    return not openings.has_verb(text) or (_BEFORE_MAIN.match(text) is not None and "," not in text)


def _cut_clause(text: str) -> str:
    """Returns a text up to a clause or phrase that is complete."""
    if len(text) <= MAX_META_DESCRIPTION:
        return text
    begin = max(_CLAUSE_AFTER, text.find(",") + 1 if _BEFORE_MAIN.match(text) else 0)
    for kind in _PLACES:
        found = (each.start() for each in kind.finditer(text, begin, MAX_META_DESCRIPTION))
        if places := [at for at in found if _is_clause(text[:at])]:
            return _DANGLING.sub("", text[: places[-1]].rstrip(" ,;:–—(")) + "…"  # noqa: RUF001
    return cut(text, MAX_META_DESCRIPTION)


def _is_clause(text: str) -> bool:
    """Whether a beginning says something, to its end: "Kilns are hot; each pot" does not."""
    # "The variables KILN_HEAT": the noun looks like a verb with its object.
    last = _NAME_OF_CODE.sub("", _LAST_CLAUSE.split(text)[-1])
    if _NO_END.search(text.rstrip(" ,;:")):
        return False
    return text.count("(") == text.count(")") and openings.has_verb(last)
