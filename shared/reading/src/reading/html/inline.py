"""Collects the text of one block with its links. Pure."""

import re
import unicodedata
from typing import Final

from documents.blocks import Link
from reading.cleaning import one_line, remove_invisible

LINE_BREAK: Final = "\x0c"
"""A line break that the page shows; it counts as white space."""
MAX_LINKS: Final = 500
"""Links that one paragraph keeps."""

_BRACKETS: Final = re.compile(r"(?:(?<=\s)|^)[(\[]([^()\[\]]{1,200})[)\]]")
_LINKED: Final = "\x00"
_POINTING: Final = frozenset(
    "see also cf refer to in section sections chapter chapters sec page pages and or the for details more information"  # noqa: SIM905
    " e.g i.e below above manual documentation".split()
)


class InlineText:
    """The text since the last block boundary, and how much of it is linked or bold."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._marks: list[tuple[int, str | None]] = []
        self._target: str | None = None
        self.breaks = 0
        self.bold_depth = 0
        self.code_depth = 0
        self.is_empty = True
        self.has_plain = False
        """Whether any of the text is not bold."""
        self.has_words = False
        """Whether any of the text is not code."""

    def add(self, text: str | None) -> None:
        if text:
            self._parts.append(text)
            if (self.has_plain and self.has_words) or text.isspace():
                return
            self.is_empty = False
            self.has_plain = self.has_plain or not self.bold_depth
            self.has_words = self.has_words or not self.code_depth

    def close_up(self) -> None:
        """Drop the space at the end: the word before a footnote's mark stands next to the full stop behind it."""
        if self._parts:
            self._parts[-1] = self._parts[-1].rstrip(" \n\t")

    def add_break(self) -> None:
        self._parts.append(LINE_BREAK)
        self.breaks += 1

    def open_link(self, target: str | None) -> None:
        self._target = target
        self._marks.append((len(self._parts), target))

    def close_link(self) -> None:
        self.open_link(None)

    @property
    def ends_in_colon(self) -> bool:
        last = next((part for part in reversed(self._parts) if not part.isspace()), "")
        return last.rstrip().endswith(":")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines as the page breaks them."""
        return tuple(filter(None, map(one_line, "".join(self._parts).split(LINE_BREAK))))

    def take(self) -> tuple[str, tuple[Link, ...]]:
        """Return the text on one line with its links, and forget it."""
        parts, marks = self._parts, self._marks
        self._parts, self._marks = [], []
        if self._target is not None:
            # The link goes on in the next block.
            self._marks.append((0, self._target))
        self.breaks, self.is_empty, self.has_plain, self.has_words = 0, True, False, False
        if not any(target for _, target in marks):
            return (one_line("".join(parts)), ()) if parts else ("", ())
        return _without_bracketed_links(*_joined(parts, marks))


def _joined(parts: list[str], marks: list[tuple[int, str | None]]) -> tuple[str, tuple[Link, ...]]:
    bounds = [(0, None), *marks, (len(parts), None)]
    shown: list[str] = []
    links: list[Link] = []
    size = 0
    is_apart = False
    for at, (begin, target) in enumerate(bounds[:-1]):
        text = remove_invisible("".join(parts[begin : bounds[at + 1][0]]))
        words = " ".join(text.split())
        if not words:
            is_apart = is_apart or bool(text)
            continue
        if size and (is_apart or text[0].isspace()):
            shown.append(" ")
            size += 1
        shown.append(words)
        if target and len(links) < MAX_LINKS:
            links.append(Link(size, size + len(words), target))
        size += len(words)
        is_apart = text[-1].isspace()
    text = "".join(shown)
    # Letters of two parts may compose to one.
    return (text, tuple(links)) if unicodedata.is_normalized("NFC", text) else (one_line(text), ())


def _without_bracketed_links(text: str, links: tuple[Link, ...]) -> tuple[str, tuple[Link, ...]]:
    """Drop brackets that hold nothing but links: "(see Filename Expansion)"."""
    if not links or ("(" not in text and "[" not in text):
        return text, links
    masked = list(text)
    for link in links:
        masked[link.start : link.end] = _LINKED * (link.end - link.start)
    dropped = [
        (match.start() - (match.start() > 0), match.end())
        for match in _BRACKETS.finditer("".join(masked))
        if _LINKED in match[1] and _is_pointer(match[1])
    ]
    if not dropped:
        return text, links
    return _cut(text, links, dropped)


def _is_pointer(inner: str) -> bool:
    return all(
        word.strip(",;:.").lower() in _POINTING
        for word in inner.replace(_LINKED, " ").split()
        if word.strip(",;:.")
    )


def _cut(text: str, links: tuple[Link, ...], dropped: list[tuple[int, int]]) -> tuple[str, tuple[Link, ...]]:
    kept: list[str] = []
    moved: list[Link] = []
    end = removed = at = 0
    for begin, behind in [*dropped, (len(text), len(text))]:
        kept.append(text[end:begin])
        while at < len(links) and links[at].start < behind:
            if links[at].end <= begin:
                moved.append(Link(links[at].start - removed, links[at].end - removed, links[at].target))
            at += 1
        removed += behind - begin
        end = behind
    whole = "".join(kept)
    shown = whole.lstrip()
    if lead := len(whole) - len(shown):
        moved = [Link(each.start - lead, each.end - lead, each.target) for each in moved]
    return (shown, tuple(moved)) if any(map(str.isalnum, shown)) else ("", ())
