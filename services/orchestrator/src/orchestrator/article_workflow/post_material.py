"""The parts of an article that its posts need, cut to the limits of the message. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from envelope.brand.payloads import ArticleContext, QuotedSource
from writing.body import PROSE, Body, MarkdownBlock, MarkdownBlockKind, cited_in

_MOST: Final = 20
_LONGEST: Final = 2000
_DASH: Final = " – "  # noqa: RUF001
_SUBJECT: Final = re.compile(rf"\*\*[^*]+\*\*{_DASH}")
_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~])")


def context_of(
    *,
    title: str,
    keyword: str,
    meta_description: str,
    key_points: Sequence[str],
    body: Body,
    sources: Sequence[Mapping[str, Any]],
) -> ArticleContext:
    """Returns the context; `sources` as versions store them. Only an article that quotes has sources in it."""
    points = tuple(point[:_LONGEST] for point in key_points[:_MOST])
    opening = _opening(body)
    quoted = [source for source in sources if source.get("quoted")][:_MOST]
    places = {source["n"]: place for place, source in enumerate(quoted, start=1)}
    return ArticleContext(
        title=title[:500],
        keyword=keyword,
        meta_description=meta_description[:1000],
        key_points=points,
        opening=opening,
        headings=_headings(body),
        sources=tuple(map(_quoted, quoted)),
        origins=tuple(_origin(text, body, places) for text in (opening, *points)) if quoted else (),
    )


def _opening(body: Body) -> str:
    first = next((block for block in body.blocks if block.kind in PROSE and block.shown.text.strip()), None)
    if first is None or first.kind is not MarkdownBlockKind.PARAGRAPH:
        return ""
    text = _one_line(first)
    # A digest sets the subject in front of an opening that does not name it; posts quote the source alone.
    subject = _SUBJECT.match(first.markdown[first.start : first.end])
    if subject is not None and text.startswith(lead := _ESCAPE.sub("", subject[0]).replace("**", "")):
        text = text.removeprefix(lead)
    return text[:_LONGEST]


def _headings(body: Body) -> tuple[str, ...]:
    texts = (_one_line(block)[:300] for block in body.blocks if block.kind is MarkdownBlockKind.HEADING)
    return tuple(text for text in texts if text)[:_MOST]


def _origin(text: str, body: Body, places: Mapping[int, int]) -> int:
    """Returns the place of the source that the block with this text cites; 0 if none has it."""
    if not text:
        return 0
    for block in body.blocks:
        if block.kind in PROSE and text in _one_line(block):
            cited = cited_in(block.markdown[block.start : block.end])
            return next((places[n] for n in cited if n in places), 0)
    return 0


def _one_line(block: MarkdownBlock) -> str:
    return " ".join(block.shown.text.split())


def _quoted(source: Mapping[str, Any]) -> QuotedSource:
    author, licence = source.get("author"), source.get("licence")
    return QuotedSource(
        title=(source["title"] or source["url"] or source["path"] or f"Source {source['n']}")[:500],
        author=author[:200] if author else None,
        licence=licence[:200] if licence else None,
    )
