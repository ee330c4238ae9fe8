"""Converts AsciiDoc to HTML: headings, paragraphs, lists, terms and code, without macros and attributes. Pure.

It covers part of the language, includes no files, and drops unknown markup instead of showing it.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_HEADING: Final = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_UNDERLINE: Final = re.compile(r"([=\-~^+])\1{2,}[ \t]*$")
_UNDERLINES: Final = "=-~^+"
_TOLERANCE: Final = 3
"""Characters that a line under a title may be longer or shorter than it."""
_FENCE: Final = re.compile(r"(?:([-.=_*+/])\1{3,}|--|```\w*|[|,:!]===)[ \t]*$")
_ATTRIBUTE: Final = re.compile(r":!?([\w-]{1,60})!?:(?:[ \t]+(.*))?$")
_BLOCK_LINE: Final = re.compile(r"\[[^\]]{0,300}\]{1,2}[ \t]*$|\.[^\s.].{0,200}$")
_MACRO: Final = re.compile(r"[\w-]{1,30}::[^\s\[]{0,300}\[[^\]]{0,500}\][ \t]*$")
_ITEM: Final = re.compile(r"[ \t]*(?:(\*{1,5}|-)|(\.{1,5}|\d{1,4}\.|[a-z]\.))[ \t]+(?=\S)")
_TERM: Final = re.compile(r"[ \t]*(\S.{0,200}?)(?:::{1,3}|;;)(?:[ \t]+(\S.*))?$")
_ADMONITION: Final = re.compile(r"(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+")
_REVISION: Final = re.compile(
    r"(?:v[\d.]+,?[ \t]*)?(\d{4}-\d{2}-\d{2}|\d{1,2} \w{3,9} \d{4}|\w{3,9} \d{1,2}, \d{4})"
)

_SIGNS: Final = re.compile(
    r"(?m)^={1,5} \S|^\[(?:source|verse|NOTE|TIP|WARNING|IMPORTANT|quote|cols|options|\[)|\blink(?:git)?:[^\s\[]+\["
    r"|^(?:include|image|ifdef|ifndef|endif|toc)::|^\S.{0,80}::$|^\+$|^\|===|<<[\w-]+(?:,[^<>]*)?>>"
)

_LINKED: Final = re.compile(
    r"(?:link:|xref:|mailto:|https?://|footnote:|image:|kbd:|btn:|menu:)[^\s\[\]]{0,300}\[[^\]]{0,400}\]"
)
_PAGE: Final = re.compile(r"linkgit:([\w.-]{1,80})\[(\d?)\]")
_REFERENCE: Final = re.compile(r"<<[^<>,]{1,120}(?:,([^<>]{0,200}))?>>")
_INDEX_TERM: Final = re.compile(r"\(\(\([^()]{1,200}\)\)\)|\[\[[^\]]{1,120}\]\]")
_SHOWN_TERM: Final = re.compile(r"\(\(([^()]{1,200})\)\)")
_ATTRIBUTE_USE: Final = re.compile(r"\{([\w-]{1,60})\}")
_CODE: Final = re.compile(r"(?<!\w)([`+])\1?(?=\S)([^`+\n]{1,300}?)(?<=\S)\1{1,2}(?!\w)")
_EMPHASIS: Final = re.compile(r"(?<![\w*_])([*_])\1?(?=\S)([^*_\n]{1,300}?)(?<=\S)\1{1,2}(?![\w*_])")
_ENTITIES: Final = {
    "nbsp": " ",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "plus": "+",
    "asterisk": "*",
    "tilde": "~",
} | {
    "caret": "^",
    "startsb": "[",
    "endsb": "]",
    "backslash": "\\",
    "backtick": "`",
    "apos": "'",
    "litdd": "--",
}


def count_signs(text: str) -> int:
    """Count the places that can only be AsciiDoc."""
    return sum(1 for _ in _SIGNS.finditer(text))


def to_html(text: str) -> tuple[str, Mapping[str, str]]:
    """Return the text as HTML, and the attributes of its header by lower-case name."""
    reader = _AsciiDocReader()
    reader.read(text.expandtabs(8).split("\n"))
    return f"<html><body>{''.join(reader.html)}</body></html>", reader.attributes


class _AsciiDocReader:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.attributes: dict[str, str] = {}
        self._begun = False
        self._list: str | None = None
        self._is_attached = False

    def read(self, lines: Sequence[str]) -> None:
        at = 0
        while at < len(lines):
            if lines[at].strip():
                at = self._step(lines, at)
            else:
                at += 1
        self._close()

    def _step(self, lines: Sequence[str], at: int) -> int:  # noqa: PLR0911 - one for each kind of block
        """Read the block that begins at the line; return the index of the next line."""
        line = lines[at].rstrip()
        if (behind := self._heading(lines, at)) is not None:
            return behind
        if _FENCE.fullmatch(line):
            return self._fenced(lines, at, line)
        if line.startswith("//") or _BLOCK_LINE.fullmatch(line) or _MACRO.fullmatch(line):
            return at + 1
        if (attribute := _ATTRIBUTE.fullmatch(line)) is not None:
            self.attributes.setdefault(attribute[1].lower(), (attribute[2] or "").strip())
            return at + 1
        if line == "+":
            self._is_attached = True
            return at + 1
        if (item := _ITEM.match(line)) is not None:
            return self._item(lines, at, line[item.end() :], "ul" if item[1] else "ol")
        if (term := _TERM.fullmatch(line)) is not None:
            self._open("dl")
            self.html.append(f"<dt>{self._inline(term[1])}</dt>")
            rest, end = self._text(lines, at + 1, goes_on=True)
            said = f"{term[2] or ''} {rest}".strip()
            self.html.append(f"<dd><p>{self._inline(said)}</p></dd>" if said else "")
            return end
        if line[0] == " " and not self._is_attached:
            end = _blank(lines, at)
            self._close()
            self._code(lines[at:end])
            return end
        text, end = self._text(lines, at)
        self._paragraph(text)
        return max(end, at + 1)

    def _heading(self, lines: Sequence[str], at: int) -> int | None:
        line = lines[at].rstrip()
        if (marked := _HEADING.fullmatch(line)) is not None:
            return self._title(lines, at + 1, len(marked[1]), marked[2])
        under = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
        is_title = line[0] not in " |" and any(each.isalnum() for each in line)
        if is_title and _UNDERLINE.fullmatch(under) and abs(len(under) - len(line)) <= _TOLERANCE:
            return self._title(lines, at + 2, _UNDERLINES.index(under[0]) + 1, line)
        return None

    def _title(self, lines: Sequence[str], at: int, level: int, text: str) -> int:
        self._close()
        self.html.append(f"<h{level}>{self._inline(text)}</h{level}>")
        if not self._begun and level == 1:
            # The lines below a document's title name its authors and its revision.
            while at < len(lines) and lines[at].strip():
                if (attribute := _ATTRIBUTE.fullmatch(lines[at].rstrip())) is not None:
                    self.attributes.setdefault(attribute[1].lower(), (attribute[2] or "").strip())
                elif (revision := _REVISION.match(lines[at])) is not None:
                    self.attributes.setdefault("revdate", revision[1])
                at += 1
        self._begun = True
        return at

    def _fenced(self, lines: Sequence[str], at: int, fence: str) -> int:
        closing = "```" if fence.startswith("```") else fence
        end = at + 1
        while end < len(lines) and lines[end].rstrip() != closing:
            end += 1
        if end == len(lines) and fence[0] not in "/+":
            # Without a closing fence it is a rule across the page.
            return at + 1
        if fence[0] in "=_*" or fence == "--":
            inner = _AsciiDocReader()
            inner.attributes, inner._begun = self.attributes, True
            # A box may contain boxes of other kinds, not of its own.
            inner.read([line for line in lines[at + 1 : end] if not _is_box(line)])
            self.html += inner.html
        elif fence[0] in "-.`":
            self._code(lines[at + 1 : end])
        elif fence[0] not in "/+":
            self.html.append("<pre></pre>")
        return end + 1

    def _item(self, lines: Sequence[str], at: int, first: str, tag: str) -> int:
        self._open(tag)
        rest, end = self._text(lines, at + 1, goes_on=True)
        self.html.append(f"<li><p>{self._inline(f'{first} {rest}'.strip())}</p></li>")
        return end

    def _text(self, lines: Sequence[str], at: int, *, goes_on: bool = False) -> tuple[str, int]:
        """Return the rest of the paragraph from the line `at`, and the index of the next line."""
        end = at
        while (
            end < len(lines)
            and lines[end].strip()
            and not _ends_text(lines[end].rstrip(), is_first=end == at and not goes_on)
        ):
            end += 1
        self._is_attached = False
        self._begun = True
        return " ".join(line.strip() for line in lines[at:end]), end

    def _paragraph(self, text: str) -> None:
        self._close()
        if shown := self._inline(_ADMONITION.sub("", text, count=1)):
            self.html.append(f"<p>{shown}</p>")

    def _code(self, lines: Sequence[str]) -> None:
        self.html.append(f"<pre>{escape(chr(10).join(lines))}</pre>")

    def _open(self, tag: str) -> None:
        if self._list != tag:
            self._close()
            self.html.append(f"<{tag}>")
            self._list = tag

    def _close(self) -> None:
        if self._list is not None and not self._is_attached:
            self.html.append(f"</{self._list}>")
            self._list = None

    def _inline(self, text: str) -> str:
        text = _PAGE.sub(r"\1", text)
        text = _INDEX_TERM.sub("", text)
        text = _SHOWN_TERM.sub(r"\1", text)
        text = _REFERENCE.sub(lambda match: match[1] or "", text)
        text = _LINKED.sub(_label, text)
        text = _ATTRIBUTE_USE.sub(self._value, text)
        text = _CODE.sub(r"\2", text)
        text = _EMPHASIS.sub(r"\2", text)
        return escape(text.strip())

    def _value(self, use: re.Match[str]) -> str:
        name = use[1].lower()
        return _ENTITIES.get(name) or self.attributes.get(name) or ""


def _label(link: re.Match[str]) -> str:
    if link[0].startswith(("footnote:", "image:")):
        return ""
    address, _, label = link[0].partition("[")
    shown = label[:-1].removesuffix("^").strip('"')
    return shown or address.partition(":")[2].removeprefix("//")


def _is_box(line: str) -> bool:
    return bool(_FENCE.fullmatch(line.rstrip())) and line[0] in "=_*-" and line.rstrip() != "----"


def _ends_text(line: str, *, is_first: bool) -> bool:
    if line == "+" or _FENCE.fullmatch(line) or line.startswith("//") or _MACRO.fullmatch(line):
        return True
    return not is_first and bool(_ITEM.match(line) or _TERM.fullmatch(line) or _BLOCK_LINE.fullmatch(line))


def _blank(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at
