"""Builds the article from supported sentences: Markdown with citations, title, description, key points. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from slugify import slugify

from writing.article import (
    MAX_META_DESCRIPTION,
    MAX_TITLE,
    Article,
    ArticleEvidence,
    ArticleSource,
    ModelDraftCounts,
)
from writing.body import escape, escape_cell
from writing.extractive.markdown import fenced
from writing.model.answers import Front
from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import normal
from writing.model.drafting import SupportedSentence, is_clean
from writing.model.headings import is_carried
from writing.model.section_passages import Exhibit

MAX_SLUG: Final = 80
MAX_KEY_POINTS: Final = 5
MAX_KEY_POINT: Final = 240


@dataclass(frozen=True, slots=True)
class AssembledParagraph:
    sentences: tuple[SupportedSentence, ...]
    """A sentence that only leads over has no sources."""
    exhibit: Exhibit | None = None
    """The table, list or listing below it."""


@dataclass(frozen=True, slots=True)
class AssembledSection:
    heading: str | None
    """None for the section that opens the article, and for one that belongs to the section before it."""
    paragraphs: tuple[AssembledParagraph, ...]

    @property
    def sentences(self) -> tuple[SupportedSentence, ...]:
        return tuple(kept for paragraph in self.paragraphs for kept in paragraph.sentences)

    @property
    def claims(self) -> tuple[SupportedSentence, ...]:
        return tuple(kept for kept in self.sentences if kept.sources)

    @property
    def words(self) -> int:
        """The number of words that readers read: in sentences and items of lists."""
        lists = (each.exhibit.rows for each in self.paragraphs if each.exhibit and not each.exhibit.head)
        items = (text for rows in lists for row in rows for text in row)
        return sum(len(text.split()) for text in (*(kept.text for kept in self.sentences), *items))


def sentences_in(sections: Sequence[AssembledSection]) -> tuple[str, ...]:
    return tuple(kept.text for section in sections for kept in section.claims)


def shown_headings(sections: Sequence[AssembledSection]) -> list[str]:
    """Returns the heading that readers see over each section; empty for the opening."""
    shown = [""]
    for each in sections:
        shown.append(each.heading or shown[-1])
    return shown[1:]


def whole_words(text: str, limit: int) -> str:
    """Cuts a text longer than `limit` characters after a whole word; the ellipsis counts."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rsplit(' ', 1)[0].rstrip(' ,;:–—-')}…"  # noqa: RUF001


def assemble(
    keyword: str,
    sections: Sequence[AssembledSection],
    front: Front | None,
    *,
    model: str,
    sources: int,
    draft: ModelDraftCounts,
    evidence: ArticleEvidence,
    judge: str | None = None,
    found: Sequence[ArticleSource] = (),
) -> Article:
    """Builds the article; takes from `front` only what the sentences support, and fills gaps with sentences.

    `judge` is the name of the model that read it a second time, if one did; `found` see `Article`.
    """
    kept = sentences_in(sections)
    name = keyword[:1].upper() + keyword[1:]
    title = normal(front.title) if front else ""
    headings = [section.heading for section in sections if section.heading]
    if not title or len(title) > MAX_TITLE or not is_carried(title, (*kept, *headings), keyword):
        title = whole_words(name, MAX_TITLE)
    points = [normal(point) for point in front.key_points] if front else []
    points = list(
        dict.fromkeys(point for point in points if len(point) <= MAX_KEY_POINT and _says(kept, point))
    )
    for sentence in (section.claims[0].text for section in sections if len(points) < len(sections)):
        if len(points) >= MAX_KEY_POINTS:
            break
        if sentence not in points:
            points.append(sentence)
    body = "\n\n".join(_markdown(section) for section in sections) + "\n"
    return Article(
        title=title,
        slug=slugify(keyword, max_length=MAX_SLUG, word_boundary=True) or slugify(title) or "article",
        meta_description=_description(front, kept),
        body_markdown=body,
        word_count=sum(section.words for section in sections),
        key_points=tuple(points[:MAX_KEY_POINTS]),
        cited=tuple(sorted({n for section in sections for each in section.sentences for n in each.sources})),
        label=f"How this was made: written by a language model ({model[:80]}) from {sources} sources; {_kept_by(judge)}. No person"
        " has reviewed it.",
        draft=draft,
        evidence=evidence,
        found=tuple(found),
    )


def _kept_by(judge: str | None) -> str:
    if judge is None:
        return "a program kept only sentences whose words stand in the passages they cite"
    return f"a program, with a second reading by a language model ({judge[:80]}), kept only sentences that the passages they cite say"


def _description(front: Front | None, kept: Sequence[str]) -> str:
    """Returns the model's description if each of its sentences holds; else the first sentence that fits, or a cut one."""
    wanted = normal(front.description) if front else ""
    if wanted and len(wanted) <= MAX_META_DESCRIPTION and _says(kept, wanted):
        return wanted
    fitting = next((sentence for sentence in kept if len(sentence) <= MAX_META_DESCRIPTION), None)
    return fitting or whole_words(kept[0], MAX_META_DESCRIPTION)


def _says(kept: Sequence[str], text: str) -> bool:
    """Whether a single sentence of the article supports each sentence of the text."""
    said = [Evidence(str(at), None, sentence) for at, sentence in enumerate(kept)]
    ones = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    return is_clean(text) and all(one in kept or check(one, said).holds for one in ones)


def _markdown(section: AssembledSection) -> str:
    blocks = [f"## {escape(section.heading)}"] if section.heading else []
    for paragraph in section.paragraphs:
        blocks.append(" ".join(map(_sentence, paragraph.sentences)))
        if paragraph.exhibit:
            blocks.append(_exhibit(paragraph.exhibit))
    return "\n\n".join(blocks)


def _sentence(kept: SupportedSentence) -> str:
    return " ".join((escape(kept.text), *(f"[{n}]" for n in kept.sources)))


def _exhibit(exhibit: Exhibit) -> str:
    if exhibit.lines:
        return fenced(exhibit.lines)
    rows = [tuple(escape_cell(" ".join(cell.split())) for cell in row) for row in exhibit.rows]
    if exhibit.head:
        head = tuple(map(escape_cell, exhibit.head))
        return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    marks = (f"{number}." if exhibit.ordered else "-" for number in count(1))
    return "\n".join(f"{mark} {text} [{exhibit.n}]" for mark, (text,) in zip(marks, rows, strict=False))
