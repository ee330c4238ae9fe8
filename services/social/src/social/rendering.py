"""Renders pages and Atom feeds. Deterministic: the same rows and settings give the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from chassis.http.public import Assets
from chassis.http.public.rendering import Home, templates
from social.channels import CHANNELS
from social.channels.lines import BULLET
from social.store import MOST_COUNTED, Feed, StoredPost
from social.urls import FeedUrls

ASSETS: Final = Assets("social", "feed.css", otherwise="public, max-age=30")


@dataclass(frozen=True, slots=True)
class FeedBlock:
    """A paragraph, or the items of a list."""

    kind: str  # "paragraph" | "list"
    lines: tuple[str, ...]


class FeedRenderer:
    def __init__(self, urls: FeedUrls) -> None:
        self._urls = urls
        self._templates = templates("social", urls, ASSETS)
        self._templates.globals.update(channels=CHANNELS)
        self._templates.filters.update(
            blocks=lambda text: list(blocks(text)),
            host=_host,
            long_date=_long_date,
            summary=_summary,
        )

    def feeds(self, feeds: Sequence[Feed]) -> str:
        return self._render("feeds.html.j2", feeds=feeds)

    def feed(
        self, feed: Feed, posts: Sequence[StoredPost], count: int, *, is_first: bool, has_more: bool
    ) -> str:
        """A page of a feed; `count` of all its posts, as `social.store.count` has it."""
        counted = f"more than {MOST_COUNTED:,} posts" if count > MOST_COUNTED else f"{count:,} posts"
        return self._render(
            "feed.html.j2",
            feed=feed,
            posts=posts,
            counted="1 post" if count == 1 else counted,
            is_first=is_first,
            has_more=has_more,
        )

    def post(self, feed: Feed, stored: StoredPost, elsewhere: Mapping[str, Sequence[str]]) -> str:
        """The page of a post; `elsewhere`: its addresses on other channels, by channel."""
        return self._render("post.html.j2", feed=feed, stored=stored, elsewhere=elsewhere)

    def atom(self, feed: Feed, posts: Sequence[StoredPost]) -> str:
        # An identity that survives a move to another address, as Atom demands (RFC 4287, 4.2.6).
        feed_id = uuid5(NAMESPACE_URL, f"brand-engine:feed:{feed.brand_slug}").urn
        return self._render("atom.xml.j2", feed=feed, posts=posts, feed_id=feed_id)

    def not_found(self, feed: Feed | None) -> str:
        home = None if feed is None else Home(feed.name, self._urls.feed(feed.brand_slug))
        return self._render("not_found.html.j2", feed=feed, home=home)

    def unavailable(self) -> str:
        return self._render("public/unavailable.html.j2", things="posts")

    def _render(self, template: str, **context: object) -> str:
        return self._templates.get_template(template).render(**context)


def blocks(text: str) -> Iterator[FeedBlock]:
    """The paragraphs and lists of a post's plain text."""
    for paragraph in text.split("\n\n"):
        for bulleted, lines in groupby(paragraph.splitlines(), key=lambda line: line.startswith(BULLET)):
            if bulleted:
                yield FeedBlock("list", tuple(line.removeprefix(BULLET) for line in lines))
            else:
                yield FeedBlock("paragraph", (" ".join(lines),))


def _summary(text: str) -> str:
    return next((block.lines[0] for block in blocks(text)), "")


def _host(link: str) -> str:
    return (urlsplit(link).hostname or "").removeprefix("www.")


def _long_date(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
