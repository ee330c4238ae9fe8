"""Reads text that a page shows in `<pre>`, as converters of manual pages write it. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from documents.blocks import Block, DefinitionEntry, Definitions, ItemList, Listing, ListItem, Paragraph
from reading.cleaning import flags_of, one_line, remove_invisible
from reading.html.listings import MAX_LINES, listing_of
from reading.section_builder import Heading

MAX_TEXT: Final = 2_000_000
MAX_HEADING: Final = 70
MAX_TERMS: Final = 3
"""Lines of the terms of one entry."""
USUAL_WIDTH: Final = 65
"""Characters that lines of prose have at least."""
FULL: Final = 0.9
"""Length of the lines of a paragraph with a ragged margin, relative to the usual one."""
UNDERLINE_LACKS: Final = 4
"""Signs that the line below a heading has more or less than the heading."""
MIN_WORDS: Final = 8
"""Words of an indented paragraph; less is code."""

_TITLE_LINE: Final = re.compile(r"\s*(\S{1,60}\(\w{1,6}\))(?:\s.{0,200})?")
_BULLET: Final = re.compile(r"([-*+o•]|\d{1,3}[.)])\s+(?=\S)")
_TAGGED: Final = re.compile(r"(\S(?:.{0,30}?\S)?)\s{2,}(?=\S)")
_HYPHEN: Final = re.compile(r"(?<=[a-z])[-\u2010]\n\s*(?=[a-z_])")
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_CODE: Final = re.compile(r"[{}<>|$;=\\]|\w\(|::|^[#%>]")
_COMMENT: Final = re.compile(r"[#%;]+ |//|/\*")
_OF_CODE: Final = re.compile(r"^#|\\$")
_UNDERLINE: Final = re.compile(r"([=\-~^*#+])\1{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?:][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Lines without an empty one between them."""

    lines: tuple[str, ...]
    is_listing: bool = False
    """Whether it is known to be one: a template with sentences in it."""
    other_terms: tuple[str, ...] = ()
    """Terms in front of it that it explains, too."""

    @property
    def margin(self) -> int:
        return min(_margin(line) for line in self.lines if line)

    @property
    def text(self) -> str:
        return one_line(_HYPHEN.sub("", "\n".join(self.lines)))


def read_preformatted(text: str) -> Iterator[Heading | Block]:
    """Yield the headings and blocks of a preformatted text."""
    lines = [line.rstrip() for line in remove_invisible(text[:MAX_TEXT]).expandtabs(8).split("\n")]
    chunks = list(_chunks(_without_title_lines(lines)))
    margins = [chunk.margin for chunk in chunks if not isinstance(chunk, Heading)]
    base = min(margins, default=0)
    yield from _merged(_joined([*_with_whole_templates(chunks, base)], base))


def _with_whole_templates(chunks: Sequence[Heading | _Chunk], base: int) -> Iterator[Heading | _Chunk]:
    """Join the parts of a template that has sentences between its first and last lines of code."""
    at = 0
    while at < len(chunks):
        lead = chunks[at - 1] if at else None
        parts: list[_Chunk] = []
        if isinstance(lead, _Chunk) and lead.margin == base and lead.text.endswith(":"):
            for each in map(chunks.__getitem__, range(at, len(chunks))):
                if isinstance(each, Heading) or each.margin <= base:
                    break
                parts.append(each)
        if len(parts) > 1 and _is_template(parts, base):
            lines = (line for part in parts for line in ("", *part.lines))
            yield _Chunk((*lines,)[1:], is_listing=True)
            at += len(parts)
        else:
            yield chunks[at]
            at += 1


def _is_template(parts: Sequence[_Chunk], base: int) -> bool:
    first, last = parts[0], parts[-1]
    is_marked = all(map(_COMMENT.match, map(str.strip, first.lines))) or _is_code(first, first.text, base)
    return (
        is_marked and _is_code(last, last.text, base) and min(each.margin for each in parts) == first.margin
    )


def _merged(blocks: Iterable[Heading | Block]) -> Iterator[Heading | Block]:
    """Join listings with nothing but an empty line between them: parts of one example."""
    before: Heading | Block | None = None
    for block in blocks:
        if (
            isinstance(before, Listing)
            and isinstance(block, Listing)
            and len(before.lines) + len(block.lines) < MAX_LINES
        ):
            before = Listing((*before.lines, "", *block.lines))
            continue
        if before is not None:
            yield before
        before = block
    if before is not None:
        yield before


def _without_title_lines(lines: Sequence[str]) -> Sequence[str]:
    """Leave out the first and last line of a manual page: "LS(1)   User Commands   LS(1)"."""
    filled = [at for at, line in enumerate(lines) if line]
    edges = {
        at
        for at in (*filled[:1], *filled[-1:])
        if (match := _TITLE_LINE.fullmatch(lines[at])) and _repeats(match)
    }
    return [line for at, line in enumerate(lines) if at not in edges]


def _repeats(match: re.Match[str]) -> bool:
    return match[0].rstrip().endswith(match[1])


def _chunks(lines: Sequence[str]) -> Iterator[Heading | _Chunk]:
    is_manual = any(line.strip() in {"NAME", "DESCRIPTION", "SYNOPSIS"} for line in lines)
    pending: list[str] = []
    headings = {} if is_manual else _underlined(lines)
    for at, line in enumerate([*lines, ""]):
        if at - 1 in headings:
            continue
        heading = _heading(line) if is_manual else headings.get(at)
        if pending and (not line or heading):
            yield _Chunk(tuple(pending))
            pending = []
        if heading:
            yield heading
        elif line:
            pending.append(line)


def _underlined(lines: Sequence[str]) -> dict[int, Heading]:
    """Return the headings that have a line of signs below them, by the numbers of their lines; a new sign goes down a level."""
    signs: list[str] = []
    found: dict[int, Heading] = {}
    for at, (line, below) in enumerate(pairwise(lines)):
        text = line.strip()
        rule = _UNDERLINE.fullmatch(below.strip())
        is_free = at == 0 or not lines[at - 1].strip()
        if (
            rule is None
            or not is_free
            or len(text) > MAX_HEADING
            or abs(len(text) - len(below.strip())) > UNDERLINE_LACKS
        ):
            continue
        if not _WORD.search(text) or _UNDERLINE.fullmatch(text):
            continue
        if rule[1] not in signs:
            signs.append(rule[1])
        found[at] = Heading(one_line(text), min(2 + signs.index(rule[1]), 6))
    return found


def _heading(line: str) -> Heading | None:
    margin = _margin(line)
    text = line.strip()
    if not text or margin not in {0, 3} or len(text) > MAX_HEADING or not _WORD.search(text):
        return None
    if margin == 0 and text == text.upper():
        return Heading(one_line(text), 2)
    return Heading(one_line(text), 3) if margin and text[0].isupper() and text[-1] not in ".:;," else None


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _joined(chunks: Sequence[Heading | _Chunk], base: int) -> Iterator[Heading | Block]:
    entries: list[DefinitionEntry] = []
    items: list[ListItem] = []
    for chunk in _with_shared_texts(chunks, base):
        if isinstance(chunk, Heading):
            yield from _lists(entries, items)
            yield chunk
            continue
        if entries and chunk.margin > base:
            entries[-1] = _with(entries[-1], _block(chunk, base))
            continue
        if items and chunk.margin > base and not _is_item(chunk):
            items[-1] = ListItem((*items[-1].blocks, _block(chunk, base)))
            continue
        if (entry := _entry(chunk, base)) is not None:
            if items:
                yield from _lists([], items)
            entries.append(replace(entry, terms=(*chunk.other_terms, *entry.terms)))
        elif _is_item(chunk):
            if entries:
                yield from _lists(entries, [])
            items += _items(chunk)
        else:
            yield from _lists(entries, items)
            yield _block(chunk, base)
    yield from _lists(entries, items)


def _with_shared_texts(chunks: Sequence[Heading | _Chunk], base: int) -> Iterator[Heading | _Chunk]:
    """Put terms without a text of their own in front of the next one, whose text explains them, too."""
    terms: list[_Chunk] = []
    is_behind_entry = False
    for chunk in chunks:
        is_entry = isinstance(chunk, _Chunk) and len(terms) < MAX_TERMS and _entry(chunk, base) is not None
        if is_entry and isinstance(chunk, _Chunk):
            yield replace(chunk, other_terms=tuple(term.text for term in terms))
            terms, is_behind_entry = [], True
            continue
        if isinstance(chunk, _Chunk) and is_behind_entry and _is_bare_term(chunk, base):
            terms.append(chunk)
            continue
        yield from terms
        terms = []
        is_behind_entry = is_behind_entry and isinstance(chunk, _Chunk) and chunk.margin > base
        yield chunk
    yield from terms


def _is_bare_term(chunk: _Chunk, base: int) -> bool:
    """Return whether a chunk is a short line that is no sentence, at the margin of the terms."""
    (line, *more) = chunk.lines
    is_short = len(line.strip()) <= MAX_HEADING and not _SENTENCE_END.search(line)
    return not more and is_short and _margin(line) == base and not _is_item(chunk)


def _lists(entries: list[DefinitionEntry], items: list[ListItem]) -> Iterator[Block]:
    """Yield the lists so far, and empty them."""
    if entries:
        yield Definitions(tuple(entries))
        entries.clear()
    if items:
        yield ItemList(tuple(items))
        items.clear()


def _with(entry: DefinitionEntry, block: Block) -> DefinitionEntry:
    return DefinitionEntry(entry.terms, (*entry.blocks, block), entry.anchor)


def _entry(chunk: _Chunk, base: int) -> DefinitionEntry | None:
    """Return the entry of a term with a text that hangs below it, or that begins behind it after a gap."""
    lines = chunk.lines
    if _margin(lines[0]) != base or _is_item(chunk):
        return None
    terms = tuple(takewhile(lambda line: _margin(line) == base, lines))
    hanging = lines[len(terms) :]
    tagged = _TAGGED.match(lines[0].strip()) if len(terms) == 1 else None
    if tagged is not None and (
        tagged[1][0] == "-" if not hanging else base + tagged.end() == _margin(hanging[0])
    ):
        first = lines[0].strip()[tagged.end() :]
        text = _Chunk((" " * (base + tagged.end()) + first, *hanging))
        return DefinitionEntry((one_line(tagged[1]),), (_block(text, base),))
    term = _Chunk(terms).text
    if (
        not hanging
        or len(terms) > MAX_TERMS
        or len(term) > 2 * MAX_HEADING
        or _OF_CODE.search(term)
        or min(map(_margin, hanging)) <= base
    ):
        return None
    explained = _block(_Chunk(hanging), base)
    # "main.cf:" above indented lines of that file is a part of the listing.
    return (
        None
        if isinstance(explained, Listing) and term.endswith(":")
        else DefinitionEntry((term,), (explained,))
    )


def _is_item(chunk: _Chunk) -> bool:
    return _BULLET.match(chunk.lines[0].strip()) is not None


def _items(chunk: _Chunk) -> Iterator[ListItem]:
    item: list[str] = []
    first = _margin(chunk.lines[0])
    for line in chunk.lines:
        marker = _BULLET.match(line.strip()) if _margin(line) <= first else None
        if marker and item:
            yield ListItem((_paragraph(_Chunk(tuple(item)).text),))
            item = []
        item.append(line.strip()[marker.end() :] if marker else line)
    yield ListItem((_paragraph(_Chunk(tuple(item)).text),))


def _block(chunk: _Chunk, base: int) -> Block:
    text = chunk.text
    if (chunk.is_listing or _is_code(chunk, text, base)) and (
        listing := listing_of("\n".join(chunk.lines))
    ) is not None:
        return listing
    return _paragraph(text)


def _is_code(chunk: _Chunk, text: str, base: int) -> bool:
    """Return whether the lines are code: deeper than the text around them and no sentence, or of ragged margins."""
    margins = {_margin(line) for line in chunk.lines}
    is_sentence = len(text.split()) >= MIN_WORDS and _SENTENCE_END.search(text) is not None
    if not (_is_wrapped(chunk.lines) or (is_sentence and _is_full(chunk.lines))):
        return True
    coded = sum(1 for line in chunk.lines if _CODE.search(line.strip()))
    if not is_sentence and coded == len(chunk.lines) and _COMMENT.match(chunk.lines[0].strip()):
        return True
    if len(margins) > 1 and not is_sentence:
        return True
    if is_sentence:
        return len(chunk.lines) > 1 and coded * 3 > len(chunk.lines) * 2 and not text[0].isupper()
    return chunk.margin > base and (coded > 0 or not text.endswith((".", ":")))


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether lines end where the next word has no place any more, as in a paragraph."""
    if len(lines) < 3:  # noqa: PLR2004 - too few to tell
        return True
    width = max(*map(len, lines), USUAL_WIDTH)
    fit = sum(len(line) + 1 + len(behind.split(None, 1)[0]) <= width for line, behind in pairwise(lines))
    return fit * 2 < len(lines) - 1


def _is_full(lines: Sequence[str]) -> bool:
    """Return whether most lines are as long as those of prose."""
    return sum(map(len, lines[:-1])) >= FULL * USUAL_WIDTH * (len(lines) - 1)


def _paragraph(text: str) -> Paragraph:
    return Paragraph(text, (), flags_of(text))
