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
_BLOCK_LINE: Final = re.compile(r"\[\[?([^\]]{0,300})\]{1,2}[ \t]*$|\.([^\s.].{0,200})$")
_MACRO: Final = re.compile(r"([\w-]{1,30})::[^\s\[]{0,300}\[[^\]]{0,500}\][ \t]*$")
_ITEM: Final = re.compile(r"[ \t]*(?:(\*{1,5}|-)|(\.{1,5}|\d{1,4}\.|[a-z]\.))[ \t]+(?=\S)")
_TERM: Final = re.compile(r"[ \t]*(\S.{0,200}?)(::{1,3}|;;)(?:[ \t]+(\S.*))?$")
_ADMONITION: Final = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+")
_NOTES: Final = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION", "sidebar"})
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
_REFERENCE: Final = re.compile(r"<<([^<>,]{1,120})(?:,([^<>]{0,200}))?>>")
_LINK_MARKS: Final = re.compile("\ue100([^\ue101]*)\ue101([^\ue102]*)\ue102")
_HELD: Final = {ord(each): 0xE000 + at for at, each in enumerate("*_`+")}
_GIVEN_BACK: Final = {held: chr(each) for each, held in _HELD.items()}
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
        self._lists: list[tuple[str, str]] = []
        """The open lists with their markers, the outermost first."""
        self._is_attached = False
        self._note = ""
        self._title_of_block = ""

    def read(self, lines: Sequence[str]) -> None:
        at = 0
        while at < len(lines):
            if lines[at].strip():
                at = self._step(lines, at)
            else:
                at += 1
        self._close()

    def _step(self, lines: Sequence[str], at: int) -> int:  # noqa: C901, PLR0911 - one for each kind of block
        """Read the block that begins at the line; return the index of the next line."""
        line = lines[at].rstrip()
        if (behind := self._heading(lines, at)) is not None:
            return behind
        if _FENCE.fullmatch(line):
            return self._fenced(lines, at, line)
        if line.startswith("//"):
            return at + 1
        if (mark := _BLOCK_LINE.fullmatch(line)) is not None:
            self._mark(line, mark)
            return at + 1
        if (macro := _MACRO.fullmatch(line)) is not None:
            if macro[1] in {"image", "video"}:
                self.html.append("<figure></figure>")
            return at + 1
        if (attribute := _ATTRIBUTE.fullmatch(line)) is not None:
            self.attributes.setdefault(attribute[1].lower(), (attribute[2] or "").strip())
            return at + 1
        if line == "+":
            self._is_attached = True
            return at + 1
        if (item := _ITEM.match(line)) is not None:
            return self._item(lines, at, item)
        if (term := _TERM.fullmatch(line)) is not None:
            self._open("dl", term[2])
            self.html.append(f"<dt>{self._inline(term[1])}</dt>")
            return self._said(lines, at, "dd", term[3] or "")
        if line[0] == " " and not self._is_attached:
            end = _blank(lines, at)
            self._close()
            self._code(lines[at:end])
            return end
        is_attached = self._is_attached
        text, end = self._text(lines, at)
        self._is_attached = is_attached
        self._paragraph(text)
        self._is_attached = False
        return max(end, at + 1)

    def _mark(self, line: str, mark: re.Match[str]) -> None:
        """Read a line that says what the next block is: its anchor, its title, or that it is a note."""
        if mark[2]:
            self._title_of_block = mark[2]
            return
        style = mark[1].partition(",")[0].strip()
        self._note = style if style in _NOTES else self._note
        if line.startswith("[[") or style.startswith("#"):
            self.html.append(f'<a id="{escape(style.lstrip("#"))}"></a>')

    def _heading(self, lines: Sequence[str], at: int) -> int | None:
        line = lines[at].rstrip()
        if (marked := _HEADING.fullmatch(line)) is not None:
            return self._title(lines, at + 1, len(marked[1]), marked[2])
        under = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
        is_title = (
            line[0] not in " |"
            and not _BLOCK_LINE.fullmatch(line)
            and not _ITEM.match(line)
            and any(each.isalnum() for each in line)
        )
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
        self._close()
        self._is_attached = False
        if fence[0] in "=_*" or fence == "--":
            note, self._note = self._note, ""
            if note:
                self.html.append(_opened_note(note, self._title_of_block))
                self._title_of_block = ""
            inner = _AsciiDocReader()
            inner.attributes, inner._begun = self.attributes, True
            # A box may contain boxes of other kinds, not of its own.
            inner.read([line for line in lines[at + 1 : end] if not _is_box(line)])
            self.html += inner.html
            self.html.append("</div>" if note else "")
        elif fence[0] in "-.`":
            self._code(lines[at + 1 : end])
        elif fence[0] not in "/+":
            self.html.append("<table><tr><th></th><th></th></tr></table>")
        return end + 1

    def _item(self, lines: Sequence[str], at: int, item: re.Match[str]) -> int:
        marker = item[1] or item[2]
        numbered = marker.strip(".").isalnum()
        self._open("ul" if item[1] else "ol", "1." if numbered else marker)
        return self._said(lines, at, "li", lines[at].rstrip()[item.end() :])

    def _said(self, lines: Sequence[str], at: int, tag: str, first: str) -> int:
        """Read the text of an item, and leave the item open for what is attached to it."""
        rest, end = self._text(lines, at + 1, goes_on=True)
        said = f"{first} {rest}".strip()
        self.html.append(f"<{tag}><p>{self._inline(said)}</p>" if said else "")
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
        admonition = _ADMONITION.match(text)
        note = admonition[1] if admonition else self._note
        self._note = ""
        shown = self._inline(text[admonition.end() :] if admonition else text)
        if shown and note:
            self.html.append(f"{_opened_note(note, self._title_of_block)}<p>{shown}</p></div>")
            self._title_of_block = ""
        elif shown:
            self._caption()
            self.html.append(f"<p>{shown}</p>")

    def _caption(self) -> None:
        if self._title_of_block:
            self.html.append(f'<p class="title">{self._inline(self._title_of_block)}</p>')
            self._title_of_block = ""

    def _code(self, lines: Sequence[str]) -> None:
        self._caption()
        self.html.append(f"<pre>{escape(chr(10).join(lines))}</pre>")

    def _open(self, tag: str, marker: str) -> None:
        """Go on with the list of this marker, or begin one within the item before."""
        if (tag, marker) in self._lists:
            while self._lists[-1] != (tag, marker):
                self.html.append(f"</{self._lists.pop()[0]}>")
            return
        if self._lists and self.html[-1].startswith("<dt>"):
            self.html.append("<dd>")
        self._caption()
        self.html.append(f"<{tag}>")
        self._lists.append((tag, marker))

    def _close(self) -> None:
        """Close the lists, unless the next block is attached to the last item."""
        while self._lists and not self._is_attached:
            self.html.append(f"</{self._lists.pop()[0]}>")

    def _inline(self, text: str) -> str:
        text = _PAGE.sub(r"\1", text)
        text = _INDEX_TERM.sub("", text)
        text = _SHOWN_TERM.sub(r"\1", text)
        text = _REFERENCE.sub(_reference, text)
        text = _LINKED.sub(_label, text)
        text = _ATTRIBUTE_USE.sub(self._value, text)
        text = _CODE.sub(r"\2", text)
        text = _EMPHASIS.sub(r"\2", text)
        return _LINK_MARKS.sub(r'<a href="\1">\2</a>', escape(text.strip().translate(_GIVEN_BACK)))

    def _value(self, use: re.Match[str]) -> str:
        name = use[1].lower()
        return _ENTITIES.get(name) or self.attributes.get(name) or ""


def _opened_note(name: str, title: str) -> str:
    shown = escape(title or name.capitalize())
    return f'<div class="{name.lower()}"><p class="admonition-title">{shown}</p>'


def _label(link: re.Match[str]) -> str:
    if link[0].startswith(("footnote:", "image:")):
        return ""
    address, _, label = link[0].partition("[")
    shown = label[:-1].removesuffix("^").strip('"')
    shown = shown or address.partition(":")[2].removeprefix("//")
    if address.startswith(("link:", "xref:", "http")):
        return (
            f"\ue100{address.removeprefix('link:').removeprefix('xref:').translate(_HELD)}\ue101{shown}\ue102"
        )
    return shown


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


def _reference(match: re.Match[str]) -> str:
    target, text = match[1], (match[2] or "").strip()
    return f"\ue100#{target.lstrip('#').translate(_HELD)}\ue101{text}\ue102" if text else ""
