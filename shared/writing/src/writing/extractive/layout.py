"""Lays out the chosen units as Markdown: opening, sections from concepts to details, citations. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from writing.extractive.blocks import PassageBlock, PassageBlockKind
from writing.extractive.headings import comparable, is_book, is_descriptive, tidy
from writing.extractive.topic import Topic
from writing.extractive.units import Unit

# Sections with fewer words look like a list of headings.
SECTION_WORDS: Final = 45
# The least share of a section's words under a heading that names the section.
PREVAILING: Final = 0.6

_SPECIAL = re.compile(r"([\\`*_\[\]<>&~|{}#$!^])")
_BLOCK_START = re.compile(r"^(\d+)([.)])|^([-+=:])")
_FENCE = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class LayoutSection:
    """A section of the article; `heading` is None for text that follows the opening directly."""

    heading: str | None
    units: tuple[Unit, ...]


def sections_of(topic: Topic, lead: Unit, chosen: Sequence[Unit], *, more: str) -> list[LayoutSection]:
    """Returns the opening, then a section per source, simple ones first; short remainders come under `more`."""
    by_source: dict[int, list[Unit]] = {}
    for unit in sorted(chosen[1:], key=lambda each: each.key):
        by_source.setdefault(unit.source.n, []).append(unit)
    # More text under the opening's own heading continues the introduction.
    own = [unit for unit in by_source.get(lead.source.n, []) if _continues(lead, unit)]
    opening = LayoutSection(None, (lead, *own))
    taken = {comparable(topic.name)}
    sections: list[LayoutSection] = []
    rest: list[Unit] = []
    for units in by_source.values():
        left = [unit for unit in units if unit not in own]
        for group in _under_their_own_headings(left):
            sections.append(LayoutSection(None, tuple(group)))
            left = [unit for unit in left if unit not in group]
        if sum(unit.words for unit in left) < SECTION_WORDS:
            rest += left
        elif left:
            sections.append(LayoutSection(None, tuple(left)))
    sections.sort(key=lambda section: (_detail(section), section.units[0].source.n))
    named: list[LayoutSection] = []
    for section in sections:
        heading = _heading(section.units, taken)
        if heading is None:
            rest += section.units
        else:
            taken.add(comparable(heading))
            named.append(LayoutSection(heading, section.units))
    if rest:
        rest.sort(key=lambda unit: (unit.technicality, unit.key))
        named.append(LayoutSection(more if named else None, tuple(rest)))
    return [opening, *named]


def _under_their_own_headings(units: Sequence[Unit]) -> list[list[Unit]]:
    """Returns the units that form sections under their own headings, if those are descriptive."""
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.heading:
            groups.setdefault(tidy(unit.heading), []).append(unit)
    return [
        group
        for heading, group in groups.items()
        if is_descriptive(heading) and sum(unit.words for unit in group) >= SECTION_WORDS
    ]


def _continues(lead: Unit, unit: Unit) -> bool:
    introduces = lead.is_name and not is_descriptive(tidy(unit.heading or ""))
    return unit.place > lead.place and (introduces or unit.heading == lead.heading)


def _detail(section: LayoutSection) -> float:
    """Returns the level of technical detail in steps; equal levels keep the order of the sources."""
    words = sum(unit.words for unit in section.units)
    return round(4 * sum(unit.technicality * unit.words for unit in section.units) / words) / 4


def _heading(units: Sequence[Unit], taken: set[str]) -> str | None:
    """Returns the most common heading of the units, or the first descriptive one, or else the source's title."""
    words: Counter[str] = Counter()
    for unit in units:
        if unit.heading:
            words[tidy(unit.heading)] += unit.words
    total = sum(unit.words for unit in units)
    prevailing = [heading for heading, most in words.most_common() if most >= PREVAILING * total]
    title = tidy(units[0].source.title)
    rest = tuple(heading for heading, _ in words.most_common())
    # "Git User Manual" describes no single section.
    for heading in (*prevailing, *(rest if is_book(title) else (title, *rest))):
        if is_descriptive(heading) and comparable(heading) not in taken:
            return heading
    return None


def markdown(sections: Sequence[LayoutSection]) -> str:
    blocks: list[str] = []
    for section in sections:
        if section.heading is not None:
            blocks.append(f"## {escape(section.heading)}")
        for unit in section.units:
            blocks += _unit(unit)
    return "\n\n".join(blocks) + "\n"


def _unit(unit: Unit) -> Iterator[str]:
    mark = f" [{unit.source.n}]"
    term = f"**{escape(unit.term)}:** " if unit.term else ""
    for block in unit.blocks:
        match block.kind:
            case PassageBlockKind.PARAGRAPH:
                yield f"{term}{escape(block.lines[0])}{mark}" if term else _line(block.lines[0]) + mark
            case PassageBlockKind.LIST:
                yield "\n".join(f"- {_line(line)}{mark}" for line in block.lines)
            case PassageBlockKind.NUMBERED_LIST:
                yield "\n".join(
                    f"{number}. {_line(line)}{mark}"
                    for number, line in enumerate(block.lines, start=block.start)
                )
            case PassageBlockKind.LISTING:
                yield _listing(block)
            case PassageBlockKind.TABLE:
                yield _table(block)


def _listing(block: PassageBlock) -> str:
    """Fences a listing with more backquotes than it has in a row; the paragraph before it carries the citation."""
    text = "\n".join(block.lines)
    fence = "`" * max(3, *(len(run) + 1 for run in _FENCE.findall(text)), 3)
    return f"{fence}\n{text}\n{fence}"


def _table(block: PassageBlock) -> str:
    head, *rows = ([escape(cell) for cell in line.split("\t")] for line in block.lines)
    lines = [head, ["---"] * len(head), *(row[: len(head)] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _line(text: str) -> str:
    escaped = escape(text)
    return _BLOCK_START.sub(lambda match: f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[3]}", escaped)


def escape(text: str) -> str:
    """Returns Markdown that renders as exactly `text`."""
    return _SPECIAL.sub(r"\\\1", text)
