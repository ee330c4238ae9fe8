"""An article in the form that targets show: text, names, picture, and digests to compare versions. Pure."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from markupsafe import Markup, escape

from publisher.domain import Article, CitedSource, language_tag
from publisher.markup import to_html
from publisher.targets.markdown import markdown_of
from publisher.targets.settings import TargetSettings

_MARK: Final = re.compile(r"<!-- article ([0-9a-f-]{36}) ([0-9a-f]{16}|draft) -->")


@dataclass(frozen=True, slots=True)
class CoverPicture:
    """An article's cover, drawn on demand."""

    name: str
    """The file's name without extension; another picture has another name."""
    alternative_text: str
    url: str | None
    """Its address on the built-in site, if the article has a page there."""
    draw: Callable[[], Awaitable[bytes]]
    """Draws the file: PNG, 1200 by 630."""


@dataclass(frozen=True, slots=True)
class Edition:
    """One version of an article for one target."""

    content_id: UUID
    brand_slug: str
    site: str
    """The brand's name."""
    language: str
    slug: str
    title: str
    excerpt: str
    html: str
    """Sanitised; without the title, with the sources."""
    markdown: str
    """Without the title, with the sources."""
    word_count: int
    sources: tuple[CitedSource, ...]
    canonical_url: str | None
    """The address at the article's home; None: this target is the home."""
    as_of: datetime
    """The article's `updated_at`."""
    categories: tuple[str, ...]
    tags: tuple[str, ...]
    author: str | None
    picture: CoverPicture | None
    stamp: str = ""
    """Changes the mark after a person decided to overwrite changes at the target."""

    @property
    def digest(self) -> str:
        """Hash of everything that readers see."""
        seen = [
            *(self.language, self.slug, self.title, self.excerpt, self.html, self.canonical_url),
            *(self.categories, self.tags, self.author, self.picture and self.picture.name),
        ]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()

    @property
    def mark(self) -> str:
        """An id of this version within its text."""
        return hashlib.sha256(f"{self.digest}{self.stamp}".encode()).hexdigest()[:16]

    @property
    def marked_html(self) -> str:
        return f"{self.html}\n{mark_comment(self.content_id, self.mark)}"


def edition_of(
    article: Article,
    settings: TargetSettings,
    *,
    canonical_url: str | None,
    picture: CoverPicture | None,
    stamp: str = "",
) -> Edition:
    """The version of an article for a target; takes long for a long article."""
    body = to_html(article.body_markdown, frozenset(source.n for source in article.sources))
    return Edition(
        content_id=article.content_id,
        brand_slug=article.brand.slug,
        site=article.brand.name,
        language=language_tag(article.brand.language),
        slug=article.slug,
        title=article.title,
        excerpt=article.meta_description,
        html=str(_with_sources(article, Markup(body.html))),  # noqa: S704 - sanitised there
        markdown=markdown_of(article),
        word_count=article.word_count,
        sources=article.sources,
        canonical_url=canonical_url,
        as_of=article.updated_at,
        categories=settings.categories,
        tags=settings.tags or (article.keyword,),
        author=settings.author,
        picture=picture if settings.cover else None,
        stamp=stamp,
    )


def mark_comment(content_id: UUID, mark: str = "draft") -> str:
    """An invisible comment that identifies the article and the version of a text."""
    return f"<!-- article {content_id} {mark} -->"


def find_mark(text: str, content_id: UUID) -> str | None:
    """The mark in a text of this article; None if it has none."""
    return next((mark for found, mark in _MARK.findall(text or "") if found == str(content_id)), None)


def digest_of(parts: Sequence[object]) -> str:
    """Hash of a target's content, to notice changes made there."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _with_sources(article: Article, body: Markup) -> Markup:
    parts = [body]
    if note := article.note:
        parts.append(Markup("<p><em>{}</em></p>").format(note))
    if article.sources:
        parts.append(
            Markup("<h2>Sources</h2>\n<ol>\n{}</ol>").format(
                Markup("").join(map(_item, _sorted_sources(article)))
            )
        )
    return Markup("\n").join(parts)


def _sorted_sources(article: Article) -> list[CitedSource]:
    return sorted(article.sources, key=lambda source: source.n)


def _item(source: CitedSource) -> Markup:
    name = escape(source.name)
    if source.link:
        name = Markup('<a href="{}" rel="external noopener noreferrer">{}</a>').format(
            source.link, source.name
        )
    licence = Markup(" ({})").format(source.licence) if source.licence else ""
    return Markup('<li id="source-{}" value="{}">{}{}</li>\n').format(source.n, source.n, name, licence)
