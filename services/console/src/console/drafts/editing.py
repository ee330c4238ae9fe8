"""Texts of a draft: what differs, what two people changed, and a paragraph that is cut. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

MAX_LINES: Final = 2_000
"""Lines of a text that are compared."""
MAX_WORDS: Final = 2_000
"""Words of a line that are compared; longer lines differ as a whole."""
_WORDS: Final = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class DiffRun:
    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: str
    """`same`, `added`, `removed`, or `gap` for lines that are left out."""
    runs: tuple[DiffRun, ...] = ()


def diff_lines(unified: str) -> tuple[DiffLine, ...]:
    """Returns the lines of a unified diff; of a line that was changed, the words that differ are marked."""
    found: list[DiffLine] = []
    removed: list[str] = []
    added: list[str] = []

    def flush() -> None:
        pairs = list(zip(removed, added, strict=False))
        for old, new in pairs:
            before, after = word_runs(old, new)
            found.extend((DiffLine("removed", before), DiffLine("added", after)))
        found.extend(DiffLine("removed", (DiffRun(each),)) for each in removed[len(pairs) :])
        found.extend(DiffLine("added", (DiffRun(each),)) for each in added[len(pairs) :])
        removed.clear()
        added.clear()

    for line in unified.splitlines()[2:]:
        mark, text = line[:1], line[1:]
        if mark == "-" and not added:
            removed.append(text)
        elif mark == "+":
            added.append(text)
        else:
            flush()
            if mark == "-":
                removed.append(text)
            elif mark == "@" and found:
                found.append(DiffLine("gap"))
            elif mark == " ":
                found.append(DiffLine("same", (DiffRun(text),)))
    flush()
    return tuple(found)


def word_runs(old: str, new: str) -> tuple[tuple[DiffRun, ...], tuple[DiffRun, ...]]:
    """Returns both lines as runs, with the words that only one of them has marked."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MAX_WORDS:
        return (DiffRun(old, is_changed=True),), (DiffRun(new, is_changed=True),)
    theirs: list[DiffRun] = []
    ours: list[DiffRun] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        changed = tag != "equal"
        if b > a:
            theirs.append(DiffRun("".join(before[a:b]), changed))
        if d > c:
            ours.append(DiffRun("".join(after[c:d]), changed))
    return tuple(theirs), tuple(ours)


@dataclass(frozen=True, slots=True)
class MergedText:
    text: str
    conflicts: int
    """Places that both changed in different ways; the text has both versions there, one after the other."""


def merge(base: str, mine: str, theirs: str) -> MergedText:
    """Joins two changes of one text, line by line. Nothing of either is lost."""
    if theirs in {mine, base}:
        return MergedText(mine, 0)
    if mine == base:
        return MergedText(theirs, 0)
    lines = [each.splitlines() for each in (base, mine, theirs)]
    if max(map(len, lines)) > MAX_LINES:
        return MergedText(f"{mine.rstrip()}\n\n{theirs}", 1)
    merged: list[str] = []
    conflicts = 0
    for old, own, other in _chunks(*lines):
        if other in (own, old):
            merged += own
        elif own == old:
            merged += other
        else:
            conflicts += 1
            between = [""] if own and other and own[-1].strip() and other[0].strip() else []
            merged += [*own, *between, *other]
    return MergedText("\n".join(merged) + ("\n" if mine.endswith("\n") else ""), conflicts)


def _chunks(
    base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """Yields runs of lines of the three texts that belong together: in turn what all three share, and what they do not."""
    in_mine, in_theirs = _same_lines(base, mine), _same_lines(base, theirs)
    at = a = b = 0
    for line in range(len(base) + 1):
        is_end = line == len(base)
        if is_end or (line in in_mine and line in in_theirs):
            to_mine = len(mine) if is_end else in_mine[line]
            to_theirs = len(theirs) if is_end else in_theirs[line]
            yield base[at:line], mine[a:to_mine], theirs[b:to_theirs]
            if not is_end:
                yield [base[line]], [base[line]], [base[line]]
            at, a, b = line + 1, to_mine + 1, to_theirs + 1


def _same_lines(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    return {
        block.a + each: block.b + each
        for block in SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
        for each in range(block.size)
    }


FIELDS: Final = ("title", "meta_description", "slug", "body_markdown")
"""What a person edits as text; `key_points` are lines."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another person stored a version while this one was writing."""

    version: int
    """The newest version."""
    made_by: str
    merged: Mapping[str, str]
    """Both changes in one text, by field."""
    places: int
    """Places that both changed, which a person has to look at."""


def find_conflict(base: Mapping[str, Any], mine: Mapping[str, str], newest: Mapping[str, Any]) -> Conflict:
    """Merges a person's text, written from version `base`, with the version that another person stored meanwhile."""
    merged, places = {}, 0
    for name, text in mine.items():
        before, theirs = field_text(base, name), field_text(newest, name)
        if name in {"title", "meta_description", "slug"}:
            # A single line has room for one of them: a person's own words stay, and the page shows the others'.
            merged[name] = theirs if text == before else text
            places += text not in (before, theirs) and theirs != before
        else:
            found = merge(before, text, theirs)
            merged[name] = found.text
            places += found.conflicts
    return Conflict(newest["version"], newest["made_by"], merged, places)


def field_text(version: Mapping[str, Any], name: str) -> str:
    """Returns a field of a version as its form has it."""
    value = version[name]
    return "\n".join(value) if isinstance(value, (list, tuple)) else value or ""


def without_block(markdown: str, start: int, end: int) -> str:
    """Returns the text without the block at this place, and without the mark that begins it."""
    first = markdown.rfind("\n", 0, start) + 1
    last = markdown.find("\n", end)
    before, after = markdown[:first], "" if last < 0 else markdown[last + 1 :]
    if not before.strip() or before.endswith("\n\n"):
        after = after.lstrip("\n")
    text = before + after
    return text.rstrip("\n") + "\n" if text.strip() else ""
