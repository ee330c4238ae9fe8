"""Ends text where it can end: on a sentence that neither points on nor leads up to what is not shown. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from documents.blocks import Block, Listing, Note, Paragraph, Table
from writing.extractive import references
from writing.extractive.mending import ELLIPSIS, beginning_of, is_sentence
from writing.extractive.sentences import split
from writing.extractive.units import TOP_LEVEL, Part, Unit

_WARNINGS: Final = frozenset(("warning", "caution", "important", "attention", "danger"))
_OPENS_NEXT: Final = re.compile(
    r"^(?:now|next|let us|let['’]s|it is (?:now )?time|the next step|we (?:now|will|can now))\b",  # noqa: RUF001
    re.IGNORECASE,
)
_VALUE: Final = re.compile(r"^[\w-]{1,20}(?: [\w-]{1,20})?: ")
# What a last sentence counts is missed: "There are a couple of ready to use scripts."
_COUNTS: Final = re.compile(
    r"\bthere (?:are|is) (?:two|three|four|five|some|several|a few|a couple of) [^.]{1,120}\.$"
    r"|\b(?:ha(?:s|ve)|comes? with|provides?|offers?) (?:two|three|four|five|several|a few|a couple of) (?:\w+ ){0,3}\w+s\.$",
    re.IGNORECASE,
)
MAX_VALUE_WORDS: Final = 30
# A step that leads to the next screen.
_GOES_ON: Final = re.compile(
    r"\b(?:click|press|select|choose)(?: on)?(?: the)? [\"“]?(?:Next|Forward|Continue)\b"
)
MIN_LAST_WORDS: Final = 30
MIN_LAST_SECTION: Final = 15
_EXAMPLES: Final = re.compile(r"(?:\w+ )?examples?\b|usage|syntax", re.IGNORECASE)


def without_promises(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts without sentences that lead up to what is left out behind them."""
    shown: list[Part] = []
    for at, part in enumerate(parts):
        behind = (*part.units[1:], None)
        units = [_kept_unit(unit, behind[place], is_only=place == 0) for place, unit in enumerate(part.units)]
        goes_on = at + 1 < len(parts) and (part.heading is None or parts[at + 1].level > part.level)
        kept = [unit for unit in units if unit is not None]
        if kept and not goes_on:
            kept = _ended(kept, has_more=False, is_last=False)
        shown.append(replace(part, units=tuple(kept)))
    return [
        part
        for at, part in enumerate(shown)
        if part.units or (at + 1 < len(shown) and shown[at + 1].level > part.level)
    ]


def has_promise(units: Sequence[Unit]) -> bool:
    """Whether a sentence of a text leads up to what is neither a list nor a listing behind it."""
    return any(
        references.promises(sentence, has_more=True)
        for unit in units
        if isinstance(last := unit.blocks[-1], Paragraph)
        for sentence in split(last.text)
    )


def _kept_unit(unit: Unit, behind: Unit | None, *, is_only: bool) -> Unit | None:
    if behind is None or not (behind.behind_drop or _is_unkept(unit, behind)):
        return unit
    return _mended(unit, has_more=True, is_last=False) or (unit if is_only else None)


def _is_unkept(unit: Unit, behind: Unit) -> bool:
    """Whether a paragraph leads up to something that the reader of the page has lost: a sentence of its own follows."""
    last, next_block = unit.blocks[-1], behind.blocks[0]
    is_lead = isinstance(last, Paragraph) and last.text.endswith(":")
    return is_lead and isinstance(next_block, Paragraph) and is_sentence(next_block.text)


def cut_units(units: Sequence[Unit], room: int) -> tuple[Unit, ...]:
    """Returns the first units within the room, and at least one; a text that is cut ends on a paragraph that can end it."""
    kept: list[Unit] = []
    words = 0
    for unit in units:
        words += unit.words
        if kept and words > room:
            break
        kept.append(unit)
    return tuple(kept if len(kept) == len(units) else _ended(kept, has_more=True, is_last=True))


def ended(parts: Sequence[Part], least: int) -> list[Part]:
    """Returns the parts up to a paragraph that can end an article, with at least so many words if there are."""
    kept = [*parts]
    while len(kept) > 1 and not kept[-1].units:
        kept.pop()
    while kept and kept[-1].units:
        *before, last = kept[-1].units
        is_unsaid = _is_bare_listing(last) and not _is_of_examples(kept)
        mended = None if is_unsaid else _mended(last, has_more=False, is_last=True)
        units = (*before, *([mended] if mended else []))
        if (
            not before
            and mended
            and mended is not last
            and kept[-1].heading
            and mended.words < MIN_LAST_WORDS
        ):
            # What is left of the part is not worth its heading.
            units = ()
        shorter = [*kept[:-1], replace(kept[-1], units=units)]
        while len(shorter) > 1 and not shorter[-1].units:
            shorter.pop()
        if mended is last or not shorter[-1].units or sum(part.words for part in shorter) < least:
            break
        kept = shorter
    return kept


def without_bare_end(parts: Sequence[Part], least: int) -> list[Part]:
    """Returns the parts without a last one that is a single short sentence, if there are enough words without it."""
    *before, last = parts
    sentences = split(last.units[0].text) if len(last.units) == 1 and len(last.blocks) == 1 else ()
    # Of a page that begins with an entry, all entries are as short.
    is_bare = (
        len(sentences) == 1
        and last.words < MIN_LAST_SECTION
        and last.level == TOP_LEVEL
        and not (before and before[0].heading)
    )
    has_enough = sum(part.words for part in before) >= least and bool(before) and bool(before[-1].units)
    return before if is_bare and has_enough and last.heading else [*parts]


def _is_of_examples(parts: Sequence[Part]) -> bool:
    """Whether the last part, or one that it stands below, is called an example: its listing needs no sentence."""
    level = parts[-1].level + 1
    for part in reversed(parts):
        if part.level < level:
            level = part.level
            if _EXAMPLES.match(part.heading or ""):
                return True
    return False


def _is_bare_listing(unit: Unit) -> bool:
    return unit.is_bare and isinstance(unit.blocks[-1], Listing)


def _ended(units: Sequence[Unit], *, has_more: bool, is_last: bool) -> list[Unit]:
    """Returns the units up to one that can end, or all if none can."""
    kept = [*units]
    while kept:
        mended = _mended(kept[-1], has_more=has_more, is_last=is_last)
        if mended is kept[-1]:
            return kept
        kept = [*kept[:-1], *([mended] if mended else [])]
    return [*units]


def _mended(unit: Unit, *, has_more: bool, is_last: bool) -> Unit | None:
    """Returns the unit without what cannot stand at an end; None if nothing is left.

    `has_more`: the source continues here, `is_last`: the article does not.
    """
    blocks = unit.blocks
    while blocks:
        shorter = _shorter(blocks, has_more=has_more, is_last=is_last)
        if shorter is blocks:
            return unit if blocks is unit.blocks else replace(unit, blocks=blocks)
        blocks = shorter
    return None


def _shorter(blocks: tuple[Block, ...], *, has_more: bool, is_last: bool) -> tuple[Block, ...]:
    last = blocks[-1]
    match last:
        case Paragraph(text):
            sentences = split(text)
            count = len(sentences)
            while count and not _can_end(sentences[count - 1], has_more=has_more, is_last=is_last):
                count -= 1
            if count == len(sentences):
                return blocks
            return (*blocks[:-1], *([beginning_of(last, count)] if count else []))
        case Note(title):
            return blocks[:-1] if is_last and title.casefold() not in _WARNINGS else blocks
        case Listing() | Table() if is_last and has_more:
            return blocks[:-1]
        case _:
            return blocks


def _can_end(sentence: str, *, has_more: bool, is_last: bool) -> bool:
    if references.promises(sentence, has_more=has_more) or (is_last and _COUNTS.search(sentence)):
        return False
    if not is_last:
        return True
    is_value = _VALUE.match(sentence) is not None and len(sentence.split()) <= MAX_VALUE_WORDS
    return (
        is_sentence(sentence)
        and not sentence.endswith(("?", f"{ELLIPSIS}."))
        and not is_value
        and _OPENS_NEXT.match(sentence) is None
        and _GOES_ON.search(sentence) is None
        and not references.is_pointer(sentence)
        and not references.is_numbered(sentence)
    )
