"""An article block by block and sentence by sentence, each with what it rests on. Pure.

A sentence of the writer has the verdict that it was stored with. One that a person wrote or changed is compared with the
passages of the article by the rules on words, unless a judge has read it since; no model is asked here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from writing.article import ArticleEvidence, KeptSentence
from writing.body import MAX_PARAGRAPH, PROSE, Body, MarkdownBlock, MarkdownBlockKind, sentence_spans
from writing.evidence import QUOTED, RULES
from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence

UNSUPPORTED: Final = "unsupported"
"""The verdict of a sentence that no passage says, as far as the rules on words can tell."""
UNCHECKED: Final = "unchecked"
"""The verdict of a sentence that the rules cannot read."""
MAX_CHECKED: Final = 60
"""Changed sentences of an article that are compared; the others are unchecked."""
MAX_COMPARED: Final = 40
"""Passages that one sentence is compared with."""
_HELD: Final = "held"
_ANOTHER_LANGUAGE: Final = "no passage has it word for word, and the rules on words read English alone"
_TOO_MANY: Final = "too many sentences were changed to compare all of them"
_CITED: Final = re.compile(r"[ \u00a0]?\[(\d{1,3})\](?!\()")
_WORD: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    text: str
    start: int
    end: int
    """Its place in the Markdown, without the citations behind it."""
    verdict: str
    given_by: str
    sources: tuple[int, ...]
    passages: tuple[str, ...]
    problem: str = ""
    """Why it is unsupported or unchecked, for people."""
    nearest: str = ""
    """What the passages say instead, if known."""


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    kind: MarkdownBlockKind
    text: str
    """As readers see it."""
    start: int
    end: int
    """Its place in the Markdown, without its leading mark."""
    sentences: tuple[MarkedSentence, ...]
    """Of prose; empty for headings, listings and tables."""


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A judge's verdict on a sentence that a person wrote or changed."""

    text: str
    verdict: str
    """`confirmed`, `held` or `unsupported`."""
    given_by: str
    sources: tuple[int, ...]
    passages: tuple[str, ...]
    problem: str = ""
    nearest: str = ""


def mark_article(
    markdown: str, evidence: ArticleEvidence, *, language: str, read: Sequence[ReadSentence] = ()
) -> tuple[MarkedBlock, ...]:
    """Returns the blocks of a body with the verdict of each sentence.

    Args:
        markdown: the body of a version.
        evidence: what its writer stored, also of sentences that people removed since.
        language: of the article, as a BCP 47 tag.
        read: a judge's verdicts on changed sentences; of two about one sentence, the last one counts.
    """
    marker = _Marker(evidence, read, is_english=language.casefold().startswith("en"))
    return tuple(
        MarkedBlock(
            block.kind,
            block.shown.text
            if block.kind is not MarkdownBlockKind.LISTING
            else markdown[block.start : block.end],
            block.start,
            block.end,
            tuple(marker.sentences_of(block)) if block.kind in PROSE else (),
        )
        for block in Body(markdown).blocks
    )


class _Marker:
    def __init__(self, evidence: ArticleEvidence, read: Sequence[ReadSentence], *, is_english: bool) -> None:
        editors = (
            KeptSentence(each.text, each.heading, (), each.passages, "kept", each.kept_by)
            for each in evidence.cuts
            if each.kept_by
        )
        known = [each for each in (*evidence.sentences, *editors) if each.text.strip()]
        # Of two that begin alike, the longer one is the one that stands there.
        self._known = sorted(known, key=lambda each: -len(each.text))
        self._passages = evidence.passages
        self._read = {each.text: each for each in read}
        self._is_english = is_english
        self._checked = 0

    def sentences_of(self, block: MarkdownBlock) -> Iterator[MarkedSentence]:
        text = block.shown.text
        at = 0
        for start, end, kept in self._found_in(text):
            yield from self._changed(block, at, start)
            # A digest keeps whole paragraphs; each of their sentences is shown by itself.
            for first, last in _spans(text, start, end):
                yield self._stored(block, first, last, kept)
            at = end
        yield from self._changed(block, at, len(text))

    def _found_in(self, text: str) -> list[tuple[int, int, KeptSentence]]:
        """Returns the stored sentences that a text has, in order, and none that overlap."""
        found: list[tuple[int, int, KeptSentence]] = []
        for each in self._known:
            start = text.find(each.text)
            while start >= 0:
                end = start + len(each.text)
                if _stands_alone(text, start, end) and all(
                    end <= one or start >= other for one, other, _ in found
                ):
                    found.append((start, end, each))
                start = text.find(each.text, end)
        return sorted(found, key=lambda each: each[0])

    def _stored(self, block: MarkdownBlock, start: int, end: int, kept: KeptSentence) -> MarkedSentence:
        return MarkedSentence(
            block.shown.text[start:end],
            *_place(block, start, end),
            kept.verdict,
            kept.given_by,
            kept.sources,
            kept.passages,
        )

    def _changed(self, block: MarkdownBlock, start: int, end: int) -> Iterator[MarkedSentence]:
        text = block.shown.text
        for first, last in _spans(text, start, end):
            if _WORD.search(text, first, last):
                yield self._judged(block, first, last)

    def _judged(self, block: MarkdownBlock, start: int, end: int) -> MarkedSentence:
        text, place = block.shown.text[start:end], _place(block, start, end)
        cited = _cited_behind(block, place[1])
        quoted = self._word_for_word(text, cited)
        if quoted is not None:
            return MarkedSentence(text, *place, QUOTED, RULES, *quoted)
        if (found := self._read.get(text)) is not None:
            by, sources = found.given_by, found.sources or cited
            return MarkedSentence(
                text, *place, found.verdict, by, sources, found.passages, found.problem, found.nearest
            )
        if not self._is_english:
            return MarkedSentence(text, *place, UNCHECKED, RULES, cited, (), _ANOTHER_LANGUAGE)
        self._checked += 1
        if self._checked > MAX_CHECKED:
            return MarkedSentence(text, *place, UNCHECKED, RULES, cited, (), _TOO_MANY)
        verdict = check(text, self._compared(cited))
        if verdict.holds:
            sources = tuple(
                sorted({self._passages[each].n for each in verdict.passages if each in self._passages})
            )
            return MarkedSentence(text, *place, _HELD, RULES, sources or cited, verdict.passages)
        return MarkedSentence(
            text, *place, UNSUPPORTED, RULES, cited, (), verdict.problem or "", verdict.nearest
        )

    def _word_for_word(
        self, text: str, cited: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
        """Returns the sources and passages that have the sentence as it is; the cited ones first. None if none has it."""
        passages = [(each.n, name) for name, each in self._passages.items() if _has_sentence(each.text, text)]
        of_cited = [each for each in passages if each[0] in cited] or passages
        if of_cited:
            return tuple(sorted({n for n, _ in of_cited})), tuple(name for _, name in of_cited)
        for each in self._known:
            if each.verdict == QUOTED and _has_sentence(each.text, text):
                return each.sources, each.passages
        return None

    def _compared(self, cited: Sequence[int]) -> list[Evidence]:
        every = [
            Evidence(name, " ".join(each.titles[-1:]), each.text) for name, each in self._passages.items()
        ]
        every += [
            Evidence(f"quoted {at}", each.heading, each.text)
            for at, each in enumerate(self._known)
            if each.verdict == QUOTED and (not cited or set(each.sources) & set(cited))
        ]
        of_cited = [
            each for each in every if each.id not in self._passages or self._passages[each.id].n in cited
        ]
        return ((of_cited if cited else []) or every)[:MAX_COMPARED]


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the (begin, end) of each sentence between two places, without the spaces around it."""
    part = text[start:end]
    spans = sentence_spans(part) if len(part) <= MAX_PARAGRAPH else ((0, len(part)),)
    for first, last in spans:
        piece = part[first:last]
        if piece.strip():
            begin = start + first + len(piece) - len(piece.lstrip())
            yield begin, begin + len(piece.strip())


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether what stands there is no part of a longer word or sentence."""
    return not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum()


def _has_sentence(passage: str, sentence: str) -> bool:
    """Whether a passage has the sentence word for word, from the beginning of a sentence to the end of one."""
    at = passage.find(sentence)
    if at < 0:
        return False
    before, after = passage[:at].rstrip(), passage[at + len(sentence) :].lstrip()
    begins = not before or before[-1] in '.!?:;…"”»)' or passage[:at].endswith("\n")
    ends = not after or sentence[-1:] in ".!?…" or passage[at + len(sentence) :].startswith("\n")
    return begins and ends


def _place(block: MarkdownBlock, start: int, end: int) -> tuple[int, int]:
    places = block.shown.places(start, end)
    if not places:
        return block.start, block.end
    return block.start + places[0][0], block.start + places[-1][1]


def _cited_behind(block: MarkdownBlock, end: int) -> tuple[int, ...]:
    """Returns the sources cited right behind a sentence, else those cited at the end of its block."""
    found: list[int] = []
    at = end
    while (mark := _CITED.match(block.markdown, at, block.end)) is not None:
        found.append(int(mark[1]))
        at = mark.end()
    if not found:
        tail = re.search(r"(?:[ \u00a0]?\[\d{1,3}\](?!\())+\s*$", block.markdown[block.start : block.end])
        found = [int(number) for number in _CITED.findall(tail[0])] if tail else []
    return tuple(sorted(set(found)))
