"""Converts reStructuredText to HTML: headings, paragraphs, lists, definitions and code. Pure.

It covers part of the language, includes and runs nothing, and drops unknown markup instead of showing it.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import takewhile
from typing import Final

MAX_DEPTH: Final = 12
"""Levels of indentation; deeper text is left out."""

_ADORNMENT: Final = re.compile(r"([=\-~^\"'`#*+.:_<>])\1{2,}[ \t]*")
_LABEL: Final = re.compile(r"\.\. _([^:]{1,100}):[ \t]*$")
_EXPLICIT: Final = re.compile(r"\.\.(?:[ \t]|$)")
_DIRECTIVE: Final = re.compile(r"\.\. +(?:\|[^|]{1,80}\| +)?([\w:.+-]{1,60}?)::(?: +(.*))?$")
_BULLET: Final = re.compile(r"([-*+•‣])[ \t]+(?=\S)")
_NUMBER: Final = re.compile(r"\(?(?:\d{1,4}|#|[A-Za-z])[.)][ \t]+(?=\S)")
_FIELD: Final = re.compile(r":([\w -]{1,60}):(?:[ \t]+(.*))?$")
_GRID: Final = re.compile(r"\+[-=+]{3,}\+?[ \t]*$")
_SIMPLE_TABLE: Final = re.compile(r"=+(?:[ \t]+=+)+[ \t]*$")
_DOCTEST: Final = ">>> "

_CODE: Final = frozenset(
    {"code", "code-block", "sourcecode", "highlight-block", "parsed-literal", "prompt", "doctest", "ipython"}
)
_NOTES: Final = frozenset(
    "note warning tip important caution hint attention danger error admonition topic sidebar".split()  # noqa: SIM905
)
_OWN_TITLE: Final = frozenset({"admonition", "topic", "sidebar"})
_API: Final = frozenset(
    "function method class classmethod staticmethod property data attribute exception module macro type struct enum var"  # noqa: SIM905
    " member option envvar confval describe object setting cmdoption django-admin fieldlookup program".split()
)
_PROSE: Final = frozenset("epigraph pull-quote highlights compound container glossary deprecated".split())  # noqa: SIM905
_LEFT_OUT: Final = frozenset(
    "index currentmodule contents meta raw highlight default-role seealso versionadded versionchanged".split()  # noqa: SIM905
)
_FIGURES: Final = frozenset({"image", "figure", "graphviz", "mermaid", "plantuml"})
_TABLES: Final = frozenset({"table", "list-table", "csv-table"})
_TABLE_GAP: Final = "<table><tr><th></th><th></th></tr></table>"

_ROLE: Final = re.compile(r":([\w:+.-]{1,40}):`([^`]{1,400})`")
_LINK: Final = re.compile(r"`([^`]{1,400})`__?")
_LITERAL: Final = re.compile(r"``([^`]{1,400}(?:`[^`]{1,100}){0,4})``")
_INTERPRETED: Final = re.compile(r"`([^`]{1,400})`")
_TARGET: Final = re.compile(r"(?<=.)\s*<[^<>]{1,300}>$")
_NOTE_MARK: Final = re.compile(r"\s?\[[#*\w-]{1,30}\]_")
_NAMED: Final = re.compile(r"\b(\w[\w-]{0,60})_{1,2}(?=[\s.,;:!?)]|$)")
_STRONG: Final = re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*\n]{1,300}?)(?<=\S)\*{1,2}(?![\w*])")
_SUBSTITUTION: Final = re.compile(r"\|[^|\s][^|]{0,60}\|_{0,2}")
_LINK_MARKS: Final = re.compile("\ue100([^\ue101]*)\ue101([^\ue102]*)\ue102")
_ESCAPE: Final = re.compile(r"\\(\S|\s)")


def count_signs(text: str) -> int:
    """Count the lines that can only be reStructuredText."""
    return sum(
        _DIRECTIVE.match(line) is not None
        or line.startswith((".. _", ".. [", ".. |"))
        or _ROLE.search(line) is not None
        for line in text.splitlines()
    )


def to_html(text: str) -> tuple[str, Mapping[str, str]]:
    """Return the text as HTML, and the fields at its beginning by lower-case name."""
    reader = _RestructuredTextReader()
    reader.read(text.expandtabs(8).split("\n"), 0)
    return f"<html><body>{''.join(reader.html)}</body></html>", reader.fields


class _RestructuredTextReader:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.fields: dict[str, str] = {}
        self._styles: list[str] = []
        self._begun = False

    def read(self, lines: Sequence[str], depth: int) -> None:
        at = 0
        while at < len(lines):
            at = self._step(lines, at, depth) if lines[at].strip() else at + 1

    def _step(self, lines: Sequence[str], at: int, depth: int) -> int:  # noqa: PLR0911 - one for each kind of block
        """Read the block that begins at the line; return the index of the next line."""
        line = lines[at]
        if line[0] == " ":
            end = _indented(lines, at, 1)
            self._inside(lines[at:end], depth)
            return end
        if (behind := self._heading(lines, at, depth)) is not None:
            return behind
        if _EXPLICIT.match(line):
            end = _indented(lines, at + 1, 1)
            self._explicit(line, lines[at + 1 : end], depth)
            return end
        if _GRID.match(line) or _SIMPLE_TABLE.match(line):
            self.html.append(_TABLE_GAP)
            return _behind_table(lines, at)
        if (field := _FIELD.match(line)) is not None:
            if not self._begun:
                self.fields.setdefault(field[1].lower(), (field[2] or "").strip())
            return _indented(lines, at + 1, 1)
        if line.startswith(_DOCTEST):
            end = _blank(lines, at)
            self._code(lines[at:end])
            return end
        if (marker := _BULLET.match(line) or _enumerated(lines, at)) is not None:
            return self._item(lines, at, marker, depth)
        return self._paragraph(lines, at, depth)

    def _heading(self, lines: Sequence[str], at: int, depth: int) -> int | None:
        def line(index: int) -> str:
            return lines[index].rstrip() if index < len(lines) else ""

        if depth:
            return None
        over = _ADORNMENT.fullmatch(line(at))
        title, under = (line(at + 1), line(at + 2)) if over else (line(at), line(at + 1))
        if over and (not title.strip() or under != line(at)):
            # A line between two parts of a text.
            return at + 1 if not title.strip() or _ADORNMENT.fullmatch(title) else None
        if not _ADORNMENT.fullmatch(under) or len(under) < min(len(title.strip()), 4):
            return None
        style = f"{'over' if over else ''}{under[0]}"
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, 6)
        self.html.append(f"<h{level}>{_inline(title)}</h{level}>")
        self._begun = self._begun or len(self._styles) > 1
        return at + (3 if over else 2)

    def _explicit(self, line: str, body: Sequence[str], depth: int) -> None:  # noqa: C901 - one for each kind
        if (label := _LABEL.match(line)) is not None:
            self.html.append(f'<a id="{escape(label[1].strip("`").lower())}"></a>')
        directive = _DIRECTIVE.match(line)
        if directive is None:
            return
        name = directive[1].lower().rpartition(":")[2]
        argument = directive[2] or ""
        if name in _CODE:
            self._code(_without_options(body))
        elif name in _NOTES:
            title = argument if name in _OWN_TITLE else name.capitalize()
            behind = [] if name in _OWN_TITLE else [f" {argument}"]
            self.html.append(f'<div class="{name}"><p class="admonition-title">{_inline(title)}</p>')
            self._inside([*behind, *_without_options(body)], depth)
            self.html.append("</div>")
        elif name in _API:
            self._definition(argument, body, depth)
        elif name == "toctree":
            self.html.append(_toctree(_without_options(body)))
        elif name == "rubric":
            self.html.append(f'<p class="rubric">{_inline(argument)}</p>')
        elif name in _PROSE:
            self._inside(_without_options(body), depth)
        elif name in _FIGURES:
            self.html.append("<figure></figure>")
        elif name == "math":
            self.html.append('<div class="math"></div>')
        elif name not in _LEFT_OUT:
            self.html.append(_TABLE_GAP if name in _TABLES else "<pre></pre>")

    def _definition(self, signature: str, body: Sequence[str], depth: int) -> None:
        """Read an entry of an API; further signatures stand below the first."""
        further = list(takewhile(lambda line: line.strip() and not _FIELD.match(line.strip()), body))
        terms = "".join(
            f'<dt id="{escape(_anchor(each))}">{escape(each)}</dt>'
            for each in (signature, *(line.strip() for line in further))
        )
        self.html.append(f'<dl class="function">{terms}<dd>')
        self._inside(_without_options(body[len(further) :]), depth)
        self.html.append("</dd></dl>")

    def _item(self, lines: Sequence[str], at: int, marker: re.Match[str], depth: int) -> int:
        width = marker.end()
        end = _indented(lines, at + 1, min(width, 2))
        # A line that goes on without being indented belongs to it, up to the next item.
        tag = "ul" if marker.re is _BULLET else "ol"
        opened, closed = f"<{tag}>", f"</{tag}>"
        if self.html and self.html[-1] == closed:
            self.html.pop()
        else:
            self.html.append(opened)
        self.html.append("<li>")
        self._inside([" " * width + lines[at][width:], *lines[at + 1 : end]], depth)
        self.html += ["</li>", closed]
        return end

    def _paragraph(self, lines: Sequence[str], at: int, depth: int) -> int:
        self._begun = True
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if following.startswith(" ") and following.strip() and not lines[at].rstrip().endswith("::"):
            end = _indented(lines, at + 1, 1)
            self.html.append(f"<dl><dt>{_inline(lines[at])}</dt><dd>")
            self._inside(lines[at + 1 : end], depth)
            self.html.append("</dd></dl>")
            return end
        end = at + 1
        while end < len(lines) and lines[end].strip() and lines[end][0] != " ":
            end += 1
        text = " ".join(line.strip() for line in lines[at:end])
        is_literal = text.endswith("::")
        if is_literal:
            text = text[:-2].rstrip()
            text += "" if text.endswith((".", "!", "?", ":")) else ":"
        if text not in {"", ":"}:
            self.html.append(f"<p>{_inline(text)}</p>")
        if is_literal:
            behind = _indented(lines, end, 1)
            self._code(lines[end:behind])
            return behind
        return end

    def _inside(self, lines: Sequence[str], depth: int) -> None:
        if depth < MAX_DEPTH:
            self.read(_dedented(lines), depth + 1)

    def _code(self, lines: Sequence[str]) -> None:
        text = "\n".join(_dedented(lines)).strip("\n")
        self.html.append(f"<pre>{escape(text)}</pre>")


def _indented(lines: Sequence[str], at: int, width: int) -> int:
    """Return the index of the first line from `at` that is neither empty nor indented by `width`."""
    margin = " " * width
    while at < len(lines) and (lines[at].startswith(margin) or not lines[at].strip()):
        at += 1
    return at


def _blank(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


def _behind_table(lines: Sequence[str], at: int) -> int:
    if _GRID.match(lines[at]):
        return _blank(lines, at)
    borders, end = 1, at + 1
    while end < len(lines):
        borders += _SIMPLE_TABLE.match(lines[end]) is not None
        end += 1
        if borders > 1 and _SIMPLE_TABLE.match(lines[end - 1]) and not "".join(lines[end : end + 1]).strip():
            return end
    return _blank(lines, at)


def _dedented(lines: Sequence[str]) -> list[str]:
    margins = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return [line[margin:] if line.strip() else "" for line in lines]


def _without_options(lines: Sequence[str]) -> list[str]:
    at = 0
    while at < len(lines) and _FIELD.match(lines[at].strip()):
        at += 1
    return list(lines[at:])


def _enumerated(lines: Sequence[str], at: int) -> re.Match[str] | None:
    """Return the marker of a list item; None for a sentence that starts with a letter and a full stop."""
    marker = _NUMBER.match(lines[at])
    following = lines[at + 1] if marker and at + 1 < len(lines) else ""
    goes_on = not following.strip() or following[0] == " " or _NUMBER.match(following)
    return marker if goes_on else None


def _toctree(lines: Sequence[str]) -> str:
    entries = []
    for line in lines:
        title, _, target = line.strip().removesuffix(">").rpartition("<")
        target = target.strip()
        if target and "*" not in target and not target.startswith("self"):
            href = target if "://" in target else f"{target.removesuffix('.rst')}.rst"
            entries.append(f'<li><a href="{escape(href)}">{escape(title.strip() or target)}</a></li>')
    return f'<div class="toctree-wrapper"><ul>{"".join(entries)}</ul></div>'


def _anchor(signature: str) -> str:
    """Return the name that a signature defines."""
    return (signature.partition("(")[0].split() or [""])[-1]


def _inline(text: str) -> str:
    text = _LITERAL.sub(lambda match: _kept(match[1]), text)
    text = _ROLE.sub(_role, text)
    text = _LINK.sub(lambda match: _linked(match[1], _address(match[1])), text)
    text = _INTERPRETED.sub(lambda match: _shown(match[1]), text)
    text = _NOTE_MARK.sub("", text)
    text = _SUBSTITUTION.sub("", text)
    text = _STRONG.sub(r"\1", text)
    text = _NAMED.sub(r"\1", text)
    text = _ESCAPE.sub(lambda match: match[1].strip(), text)
    html = escape(text.translate(_GIVEN_BACK).strip())
    return _LINK_MARKS.sub(r'<a href="\1">\2</a>', html)


def _role(match: re.Match[str]) -> str:
    name, text = match[1].rpartition(":")[2], match[2]
    target = (_address(text) or text).strip()
    if name in {"ref", "numref"}:
        return _linked(text, f"#{target.lower()}")
    return _linked(text, f"{target}.rst") if name == "doc" else _kept(_shown(text))


def _address(text: str) -> str:
    """Return the target of "the text <target>"."""
    found = _TARGET.search(text)
    return found[0].strip()[1:-1] if found else ""


def _linked(text: str, href: str) -> str:
    shown = _kept(_shown(text))
    return f"\ue100{_kept(href)}\ue101{shown}\ue102" if href else shown


# Inside code, characters that mean something elsewhere stand for themselves.
_HELD: Final = {ord(each): 0xE000 + at for at, each in enumerate("*_`|\\")}
_GIVEN_BACK: Final = {held: chr(each) for each, held in _HELD.items()}


def _kept(code: str) -> str:
    return code.translate(_HELD)


def _shown(text: str) -> str:
    """Return the visible part of a reference: the text of "the text <target>", the last part of "~a.b.c"."""
    shown = _TARGET.sub("", text).lstrip("!")
    return shown[1:].rpartition(".")[2] if shown.startswith("~") else shown
