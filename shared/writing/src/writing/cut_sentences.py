"""Puts a sentence that the checks cut back into its article. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from writing.article import CutPlace, CutSentence
from writing.body import PROSE, Body, MarkdownBlock, MarkdownBlockKind, escape, escape_beginning
from writing.quality.likeness import containment

SAME: Final = 0.5
"""The least share of a sentence's runs of words by which it is recognised after an edit."""
_CITATIONS: Final = re.compile(r"(?:[ \u00a0]?\[\d{1,3}\](?!\())*")
_BEGINS: Final = frozenset({MarkdownBlockKind.PARAGRAPH, MarkdownBlockKind.HEADING})
"""Blocks before which another paragraph may stand; lists and tables belong to what is before them."""


def put_back(markdown: str, cuts: Sequence[CutSentence], number: int) -> str:
    """Returns a body with cut sentence `number` (1-based) at its place, without a citation.

    Where the sentence before it is gone, it stands at the end of its section; where that is gone, too, at the end.
    """
    cut = cuts[number - 1]
    after, place = cut.after, cut.place
    # Sentences of the same place that are kept already come first.
    for each in cuts[: number - 1]:
        if each.kept_by and (each.heading, each.after, each.place) == (cut.heading, cut.after, cut.place):
            after, place = each.text, CutPlace.ALONE if cut.place is CutPlace.ALONE else CutPlace.BEHIND
    article = _Places.of(markdown, cut.heading)
    found = article.find(after) if after else None
    text = escape(cut.text)
    if found and place is CutPlace.BEHIND:
        return f"{markdown[: found.end]} {text}{markdown[found.end :]}"
    text = escape_beginning(text)
    if place is CutPlace.OPENS and (start := article.next_paragraph(found)) is not None:
        return f"{markdown[:start]}{text} {markdown[start:]}"
    at = article.end_of_paragraph(found)
    return "\n\n".join(filter(None, (markdown[:at].rstrip(), text, markdown[at:].strip()))) + "\n"


@dataclass(frozen=True, slots=True)
class _SentencePlace:
    block: int
    end: int
    """Behind its citations."""


@dataclass(frozen=True, slots=True)
class _Places:
    """The blocks of a body, and which of them are those of a section."""

    markdown: str
    blocks: tuple[MarkdownBlock, ...]
    first: int | None
    """The section's first block behind its heading; None if there is no such section."""
    last: int
    """The block behind the section's last one."""

    @classmethod
    def of(cls, markdown: str, heading: str) -> "_Places":
        blocks = Body(markdown).blocks
        headings = [at for at, each in enumerate(blocks) if each.kind is MarkdownBlockKind.HEADING]
        first: int | None = 0
        if heading:
            named = (at for at in headings if blocks[at].shown.text.strip() == heading)
            first = next((at + 1 for at in named), None)
        last = next((at for at in headings if first is not None and at >= first), len(blocks))
        return cls(markdown, blocks, first, last)

    def find(self, sentence: str) -> _SentencePlace | None:
        """Returns the place of a sentence: word for word, or of the one that says most of it."""
        prose = [(at, each) for at, each in enumerate(self.blocks) if each.kind in PROSE]
        for at, block in prose:
            if sentence in block.shown.text:
                return self._place(at, sentence)
        said = [(containment(each, sentence), at, each) for at, block in prose for each in block.sentences]
        share, at, nearest = max(said, key=lambda each: each[0], default=(0.0, 0, ""))
        return self._place(at, nearest) if share >= SAME else None

    def _place(self, at: int, sentence: str) -> _SentencePlace:
        block = self.blocks[at]
        begin = block.shown.text.index(sentence)
        end = block.start + block.shown.places(begin, begin + len(sentence))[-1][1]
        cited = _CITATIONS.match(self.markdown, end, block.end)
        return _SentencePlace(at, cited.end() if cited else end)

    def next_paragraph(self, place: _SentencePlace | None) -> int | None:
        """Returns where the section's first paragraph behind this place begins."""
        if self.first is None:
            return None
        behind = max(self.first, place.block + 1 if place else 0)
        found = (each for each in self.blocks[behind : self.last] if each.kind is MarkdownBlockKind.PARAGRAPH)
        return next((each.start for each in found), None)

    def end_of_paragraph(self, place: _SentencePlace | None) -> int:
        """Returns where the line behind the paragraph of this place begins, with what belongs to it; of no place, behind the section."""
        behind = self.last
        if place is not None:
            behind = place.block + 1
            if self.first is not None and behind < self.first:
                behind = self.first
            while behind < len(self.blocks) and self.blocks[behind].kind not in _BEGINS:
                behind += 1
        if behind >= len(self.blocks):
            return len(self.markdown)
        return self.markdown.rfind("\n", 0, self.blocks[behind].start) + 1
