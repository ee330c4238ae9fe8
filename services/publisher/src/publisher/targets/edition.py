"""An article as it is to be seen at a target: text, names and picture, and what tells two of them apart. Pure."""

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
    """An article's cover, drawn when it is needed."""

    name: str
    """Of its file, without the ending; another picture has another."""
    alternative_text: str
    url: str | None
    """Where readers find it at the built-in site, if it has a page there."""
    draw: Callable[[], Awaitable[bytes]]
    """PNG, 1200 by 630."""


@dataclass(frozen=True, slots=True)
class Edition:
    """One state of an article for one target."""

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
    """The same."""
    word_count: int
    sources: tuple[CitedSource, ...]
    canonical_url: str | None
    """Where its home is; None: here."""
    as_of: datetime
    """The article's `updated_at`."""
    categories: tuple[str, ...]
    tags: tuple[str, ...]
    author: str | None
    picture: CoverPicture | None
    stamp: str = ""
    """Of a person's word that what is there is to be overwritten."""

    @property
    def digest(self) -> str:
        """Of all that a reader can see of it."""
        seen = [
            *(self.language, self.slug, self.title, self.excerpt, self.html, self.canonical_url),
            *(self.categories, self.tags, self.author, self.picture and self.picture.name),
        ]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()

    @property
    def mark(self) -> str:
        """Names this writing of it, within its text."""
        return hashlib.sha256(f"{self.digest}{self.stamp}".encode()).hexdigest()[:16]

    @property
    def marked_html(self) -> str:
        return f"{self.html}\n{marked(self.content_id, self.mark)}"


def edition_of(
    article: Article,
    settings: TargetSettings,
    *,
    canonical_url: str | None,
    picture: CoverPicture | None,
    stamp: str = "",
) -> Edition:
    """What a target is to show of an article; takes a while for a long one."""
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


def marked(content_id: UUID, mark: str = "draft") -> str:
    """A comment that no reader sees, by which a text is known as ours, and as which writing of it."""
    return f"<!-- article {content_id} {mark} -->"


def mark_in(text: str, content_id: UUID) -> str | None:
    """Which writing of the article a text is; None if it is not known as one."""
    return next((mark for found, mark in _MARK.findall(text or "") if found == str(content_id)), None)


def digest_of(parts: Sequence[object]) -> str:
    """Of what a target shows, to notice when somebody has changed it there."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _with_sources(article: Article, body: Markup) -> Markup:
    parts = [body]
    if article.label:
        parts.append(Markup("<p><em>{}</em></p>").format(article.label))
    if article.sources:
        parts.append(
            Markup("<h2>Sources</h2>\n<ol>\n{}</ol>").format(Markup("").join(map(_item, _listed(article))))
        )
    return Markup("\n").join(parts)


def _listed(article: Article) -> list[CitedSource]:
    return sorted(article.sources, key=lambda source: source.n)


def _item(source: CitedSource) -> Markup:
    name = escape(source.name)
    if source.link:
        name = Markup('<a href="{}" rel="external noopener noreferrer">{}</a>').format(
            source.link, source.name
        )
    licence = Markup(" ({})").format(source.licence) if source.licence else ""
    return Markup('<li id="source-{}" value="{}">{}{}</li>\n').format(source.n, source.n, name, licence)
