"""File layouts of site generators: names of fields and files, and the picture's path. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from publisher.targets.edition import CoverPicture, Edition


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one generator; paths are below the target's folder."""

    article: Callable[[str, datetime], str]
    """The text's path, from the slug and the time of first publication."""
    cover: Callable[[str, datetime], str]
    fields: Callable[[Edition, str, datetime], Mapping[str, Any]]
    """Front matter; the slug is the one in the path, which may differ from the article's."""
    text: Callable[[str], str] = str
    """Escapes the Markdown against the generator's templates."""


def render_file(layout: Layout, edition: Edition, slug: str, since: datetime, *, mark: str) -> str:
    """The file's text: front matter (YAML with values as JSON, which is YAML too), and the Markdown."""
    fields = {
        **layout.fields(edition, slug, since),
        # Identifies our files, and the version in them.
        "source_id": f"{edition.content_id} {mark}",
    }
    lines = [f"{name}: {_value(value)}" for name, value in fields.items() if value not in (None, (), "")]
    return "\n".join(["---", *lines, "---", "", layout.text(edition.markdown).rstrip("\n"), ""])


def _value(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps(value, ensure_ascii=False)


def _hugo(edition: Edition, slug: str, since: datetime) -> Mapping[str, Any]:
    return {
        "title": edition.title,
        "date": since,
        "lastmod": edition.as_of,
        "description": edition.excerpt,
        "slug": slug,
        "categories": edition.categories,
        "tags": edition.tags,
        "author": edition.author,
        "canonicalURL": edition.canonical_url,
        "images": ["cover.png"] if edition.picture else None,
        "cover": _pictured(edition.picture, image="cover.png", alt="alt"),
    }


def _astro(edition: Edition, slug: str, since: datetime) -> Mapping[str, Any]:
    return {
        "title": edition.title,
        "description": edition.excerpt,
        "pubDate": since,
        "updatedDate": edition.as_of,
        "heroImage": edition.picture and f"./{slug}.png",
        "heroImageAlt": edition.picture and edition.picture.alternative_text,
        "categories": edition.categories,
        "tags": edition.tags,
        "author": edition.author,
        "canonicalURL": edition.canonical_url,
    }


def _jekyll(edition: Edition, slug: str, since: datetime) -> Mapping[str, Any]:
    return {
        "layout": "post",
        "title": edition.title,
        "date": since,
        "last_modified_at": edition.as_of,
        "description": edition.excerpt,
        "categories": edition.categories,
        "tags": edition.tags,
        "author": edition.author,
        "canonical_url": edition.canonical_url,
        "image": _pictured(edition.picture, path=f"/assets/covers/{slug}.png", alt="alt"),
    }


def _eleventy(edition: Edition, slug: str, since: datetime) -> Mapping[str, Any]:
    return {
        "title": edition.title,
        "date": since,
        "updated": edition.as_of,
        "description": edition.excerpt,
        "categories": edition.categories,
        "tags": edition.tags,
        "author": edition.author,
        "canonical": edition.canonical_url,
        "image": edition.picture and f"{slug}.png",
        "imageAlt": edition.picture and edition.picture.alternative_text,
        # Markdown only: no template language runs first.
        "templateEngineOverride": "md",
    }


def _pictured(picture: CoverPicture | None, *, alt: str, **where: str) -> Mapping[str, str] | None:
    return None if picture is None else {**where, alt: picture.alternative_text}


def _without_shortcodes(text: str) -> str:
    """Breaks shortcodes by a space. Hugo runs them in code, too, where escaping is impossible."""
    return text.replace("{{<", "{{ <").replace("{{%", "{{ %")


def _raw(text: str) -> str:
    """Escapes Liquid, which runs in code, too."""
    return f"{{% raw %}}\n{text.replace('{%', '{ %').rstrip()}\n{{% endraw %}}\n"


LAYOUTS: Final[Mapping[str, Layout]] = {
    "hugo": Layout(
        lambda slug, _: f"{slug}/index.md", lambda slug, _: f"{slug}/cover.png", _hugo, _without_shortcodes
    ),
    "astro": Layout(lambda slug, _: f"{slug}.md", lambda slug, _: f"{slug}.png", _astro),
    "jekyll": Layout(
        lambda slug, since: f"_posts/{since.astimezone(UTC):%Y-%m-%d}-{slug}.md",
        lambda slug, _: f"assets/covers/{slug}.png",
        _jekyll,
        _raw,
    ),
    "eleventy": Layout(lambda slug, _: f"{slug}.md", lambda slug, _: f"{slug}.png", _eleventy),
}
