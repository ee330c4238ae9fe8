r"""Builds the section of a source that has passages alone, as earlier research stored them. Pure.

A passage is text under one heading, with blocks separated by blank lines. A paragraph is one line without a tab. Each line
of the others starts with a marker and a tab: "•\titem", "1.\titem", "\tcode", "|\tcell\tcell".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from documents.blocks import Block, ItemList, Listing, ListItem, Paragraph, Table
from documents.sections import PAGE_LEVEL, Section
from documents.words import bare_title, telling_stems
from writing.article import ArticleSource, SourcePassage

_MARKED: Final = re.compile(r"(•|\||\d{1,6}\.|)\t(.*)")


def with_section(source: ArticleSource, keyword: Sequence[str]) -> ArticleSource:
    """Returns the source with a section made of its passages, unless it has one. `keyword` are the keyword's stems."""
    if source.section is not None:
        return source
    page = _page(source)
    if share := _share_of_title(keyword, source.title):
        return replace(source, section=page, about=0.5 + 0.5 * share)
    for child in page.children:
        if share := _share_of_title(keyword, child.title):
            return replace(source, section=child, about=0.5 + 0.4 * share, titles_above=(source.title,))
    return replace(source, section=page, about=0.0)


def _share_of_title(keyword: Sequence[str], title: str) -> float:
    """Returns the keyword's share of a title's words; 0 if the title lacks one of its words."""
    stems = telling_stems(bare_title(title))
    return len(keyword) / max(1, len(stems)) if frozenset(keyword) <= frozenset(stems) else 0.0


def _page(source: ArticleSource) -> Section:
    own: list[Block] = []
    children: list[Section] = []
    for passage in source.passages:
        blocks = _blocks_of(passage)
        if passage.heading is None or passage.heading == source.title:
            own += blocks
        elif children and children[-1].title == passage.heading:
            children[-1] = replace(children[-1], blocks=children[-1].blocks + blocks)
        else:
            children.append(Section(passage.heading.replace("\0", ""), 2, blocks=blocks))
    return Section(source.title.replace("\0", ""), PAGE_LEVEL, blocks=tuple(own), children=tuple(children))


def _blocks_of(passage: SourcePassage) -> tuple[Block, ...]:
    return tuple(_cut(passage.text, passage.flags))


def _cut(text: str, flags: tuple[str, ...]) -> Iterator[Block]:
    for piece in text.replace("\0", "").split("\n\n"):
        lines = piece.strip("\n").split("\n")
        marked = [_MARKED.fullmatch(line) for line in lines] if "\t" in piece else []
        found = [match for match in marked if match is not None]
        markers = {match[1].rstrip("0123456789.") or match[1][-1:] for match in found}
        if len(found) < len(lines) or len(markers) != 1:
            if paragraph := " ".join(piece.split()):
                yield Paragraph(paragraph, flags=flags)
        elif not flags:
            yield _structure(found)


def _structure(lines: Sequence[re.Match[str]]) -> Block:
    marker = lines[0][1]
    if marker == "":
        return Listing(tuple(line[2] for line in lines))
    if marker == "|":
        head, *rows = (tuple(line[2].strip(" ").split("\t")) for line in lines)
        return Table(tuple((*row, *[""] * len(head))[: len(head)] for row in rows), head)
    items = tuple(ListItem((Paragraph(line[2].strip(" ")),)) for line in lines)
    return ItemList(items, marker != "•", 1 if marker == "•" else int(marker[:-1]))
