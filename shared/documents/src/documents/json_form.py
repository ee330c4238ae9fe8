"""Sections and blocks as JSON values, for a database column or an HTTP answer. Pure.

A block is an object with one key, its kind: `{"p": "text"}`, `{"ul": [[block, …], …]}`, `{"code": ["line", …]}`. Short keys,
since research stores each document in this form.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from documents.blocks import (
    Block,
    DefinitionEntry,
    Definitions,
    Gap,
    ItemList,
    Label,
    Link,
    Listing,
    ListItem,
    Note,
    Paragraph,
    Table,
)
from documents.sections import Section

MAX_DEPTH: Final = 40
"""The deepest nesting of blocks and sections that is decoded."""


class NotADocumentError(ValueError):
    """The value is no section or block, or is nested too deep."""


def encode_block(block: Block) -> dict[str, Any]:  # noqa: C901, PLR0911 - one for each kind
    """Returns the JSON value of a block."""
    match block:
        case Paragraph(text, links, flags):
            value: dict[str, Any] = {"p": text}
            if links:
                value["links"] = [[link.start, link.end, link.target] for link in links]
            if flags:
                value["flags"] = list(flags)
            return value
        case ItemList(items, ordered, start):
            encoded = [encode_blocks(item.blocks) for item in items]
            return {"ol": encoded, "start": start} if ordered else {"ul": encoded}
        case Listing(lines):
            return {"code": list(lines)}
        case Table(rows, head, caption):
            return {"table": [list(row) for row in rows], "head": list(head), "caption": caption}
        case Definitions(entries):
            return {"dl": [[list(each.terms), encode_blocks(each.blocks), each.anchor] for each in entries]}
        case Note(title, blocks):
            return {"note": encode_blocks(blocks), "title": title}
        case Label(text):
            return {"label": text}
        case Gap(kind):
            return {"gap": kind}


def encode_blocks(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Returns the JSON values of blocks."""
    return list(map(encode_block, blocks))


def encode_section(section: Section) -> dict[str, Any]:
    """Returns the JSON value of a section with all below it."""
    return {
        "title": section.title,
        "level": section.level,
        "anchor": section.anchor,
        "names": list(section.names),
        "blocks": encode_blocks(section.blocks),
        "children": [encode_section(child) for child in section.children],
        "anchors": list(section.anchors),
    }


def decode_section(value: Mapping[str, Any], depth: int = 0) -> Section:
    """Returns the section of a JSON value.

    Raises:
        NotADocumentError: it is not of this form.
    """
    if depth > MAX_DEPTH:
        raise NotADocumentError(f"sections are nested more than {MAX_DEPTH} deep")
    try:
        title, anchor = _strings((value["title"], value["anchor"]))
        return Section(
            title=title,
            level=int(value["level"]),
            anchor=anchor,
            names=_strings(value["names"]),
            blocks=decode_blocks(value["blocks"]),
            children=tuple(decode_section(child, depth + 1) for child in value["children"]),
            anchors=_strings(value.get("anchors", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotADocumentError(f"a section lacks or mistakes a field ({error})") from error


def decode_blocks(values: Sequence[Mapping[str, Any]], depth: int = 0) -> tuple[Block, ...]:
    """Returns the blocks of JSON values.

    Raises:
        NotADocumentError: one of them is not of this form.
    """
    if depth > MAX_DEPTH:
        raise NotADocumentError(f"blocks are nested more than {MAX_DEPTH} deep")
    try:
        return tuple(_block(value, depth + 1) for value in values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotADocumentError(f"a block lacks or mistakes a field ({error})") from error


def _strings(values: Collection[object]) -> tuple[str, ...]:
    """Raises TypeError."""
    strings = tuple(each for each in values if isinstance(each, str))
    if isinstance(values, str) or len(strings) != len(values):
        raise TypeError("a list of strings is something else")
    return strings


def _block(value: Mapping[str, Any], depth: int) -> Block:  # noqa: PLR0911 - one for each kind
    match value:
        case {"p": str(text)}:
            links = tuple(
                Link(int(start), int(end), *_strings((target,)))
                for start, end, target in value.get("links", ())
            )
            return Paragraph(text, links, _strings(value.get("flags", ())))
        case {"ul": list(items)}:
            return ItemList(tuple(ListItem(decode_blocks(item, depth)) for item in items))
        case {"ol": list(items), "start": int(start)}:
            return ItemList(tuple(ListItem(decode_blocks(item, depth)) for item in items), True, start)
        case {"code": list(lines)}:
            return Listing(_strings(lines))
        case {"table": list(rows), "head": list(head), "caption": str(caption)}:
            return Table(tuple(map(_strings, rows)), _strings(head), caption)
        case {"dl": list(entries)}:
            return Definitions(
                tuple(
                    DefinitionEntry(_strings(terms), decode_blocks(blocks, depth), *_strings((anchor,)))
                    for terms, blocks, anchor in entries
                )
            )
        case {"note": list(blocks), "title": str(title)}:
            return Note(title, decode_blocks(blocks, depth))
        case {"label": str(text)}:
            return Label(text)
        case {"gap": str(kind)}:
            return Gap(kind)
        case _:
            raise NotADocumentError(f"no block: {str(value)[:80]}")
