"""What is posted where: stories made into posts and drafts. Pure: no I/O, no clock, no randomness."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NewType
from uuid import UUID, uuid5

from chassis.links import public_link
from envelope.brand.payloads import SocialCreate
from social.channels import BUILT_IN, CHANNELS, FEED, REMOTE, Channel
from social.counting import utf8_bytes
from social.cutting import clean_line, comparable, cut, hashtag, without_mentions

BrandSlug = NewType("BrandSlug", str)
PostId = NewType("PostId", UUID)

_POSTS: Final = UUID("6f0c2b1e-5a3d-5c57-9d0e-1f0f7a1f3b52")
BULLET: Final = "• "


@dataclass(frozen=True)
class Story:
    """What there is to say of an article, cleaned; `tags` with their #, the most telling first."""

    title: str
    keyword: str
    description: str
    points: tuple[str, ...]
    tags: tuple[str, ...]
    link: str | None

    @property
    def opening(self) -> str:
        """The hook."""
        return self.description or next(iter(self.points), self.title)

    # What follows is the same for every channel, and reading texts word by word is slow.

    @cached_property
    def opening_says(self) -> str:
        return comparable(self.opening)

    @cached_property
    def title_says(self) -> str:
        return comparable(self.title)

    @cached_property
    def keyword_says(self) -> str:
        return comparable(self.keyword)

    @cached_property
    def further_points(self) -> tuple[str, ...]:
        """The key points that say something else than the opening."""
        points = {comparable(point): point for point in reversed(self.points)}
        return tuple(point for says, point in reversed(points.items()) if says not in self.opening_says)


@dataclass(frozen=True, slots=True)
class Count:
    unit: str
    used: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A part of a text that is a link or a hashtag, as UTF-8 byte offsets, the end exclusive.

    `target` is the address, or the hashtag without its #.
    """

    start: int
    end: int
    kind: str  # "link" | "tag"
    target: str


@dataclass(frozen=True, slots=True)
class Draft:
    """`text` is what people copy; `api_text` what the channel's API wants instead, where that differs."""

    channel: str
    text: str
    counts: tuple[Count, ...]
    facets: tuple[Facet, ...] = ()
    api_text: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """A post of the brand's own feed, together with how it would read elsewhere."""

    post_id: PostId
    brand_slug: BrandSlug
    content_id: UUID
    channel: str
    title: str
    text: str
    tags: tuple[str, ...]
    link: str | None
    drafts: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no post on a channel: a code for programs, a sentence for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command comes to: the post to make, if any, and an outcome for each channel that was asked for."""

    post: Post | None
    outcomes: tuple[tuple[str, Refusal | None], ...]  # (channel as the command spelled it, None = posted)


class LinkTooLongError(ValueError):
    """The link alone is longer than the channel allows."""


def plan(command: SocialCreate) -> Plan:
    """Decide for each channel of a command; a channel named twice is decided once."""
    asked = dict.fromkeys(command.channels)
    link_problem = _problem_with_link(command.published_url)
    outcomes = tuple((name, link_problem or _problem_with_channel(name)) for name in asked)
    wanted = any(problem is None for _, problem in outcomes)
    return Plan(_post(command) if wanted else None, outcomes)


def _problem_with_channel(name: str) -> Refusal | None:
    channel = CHANNELS.get(name.strip().casefold())
    if channel is None:
        known = ", ".join(CHANNELS)
        return Refusal("unknown_channel", f"there is no channel “{name}”; choose among: {known}")
    if channel.name != FEED:
        return Refusal(
            "channel_not_connected",
            f"no {channel.label} account is connected, so nothing was posted there; "
            f"use the channel “{FEED}”, whose pages hold a draft for {channel.label} to copy",
        )
    return None


def _problem_with_link(link: str | None) -> Refusal | None:
    if link is None or is_web_address(link):
        return None
    return Refusal(
        "invalid_link", "published_url is no http(s) address, so no post could lead to the article"
    )


def is_web_address(link: str) -> bool:
    return clean_line(link) == link and public_link(link) is not None


def post_id(content_id: UUID, channel: str) -> PostId:
    """The same for every repetition of a command, so that a post's address never changes."""
    return PostId(uuid5(_POSTS, f"{content_id}/{channel}"))


def _post(command: SocialCreate) -> Post:
    story = story_of(command)
    return Post(
        post_id=post_id(command.content_id, FEED),
        brand_slug=BrandSlug(command.brand_slug),
        content_id=command.content_id,
        channel=FEED,
        title=story.title,
        text=compose(BUILT_IN, replace(story, link=None, tags=())).text,
        tags=story.tags[: BUILT_IN.hashtags],
        link=story.link,
        drafts=tuple(drafts(story)),
    )


def story_of(command: SocialCreate) -> Story:
    article = command.article_context
    keyword = clean_line(article.keyword)
    tags = (hashtag(keyword), hashtag(command.brand_slug))
    points = (clean_line(point) for point in article.key_points)
    return Story(
        # An article of invisible characters still needs something to click on.
        title=clean_line(article.title) or keyword or brand_name(command),
        keyword=keyword,
        description=clean_line(article.meta_description),
        points=tuple(point for point in points if point),
        tags=tuple({tag.casefold(): tag for tag in tags if tag}.values()),
        link=command.published_url,
    )


def brand_name(command: SocialCreate) -> str:
    """What the command says, or else made from the slug: `daily-grind` → `Daily Grind`."""
    if command.brand_name and (named := clean_line(command.brand_name)):
        return named
    slug = command.brand_slug
    return " ".join(word[:1].upper() + word[1:] for word in slug.split("-"))


# --- composing ------------------------------------------------------------------------------------------------------


def drafts(story: Story) -> Iterator[Draft]:
    """One for each channel elsewhere, in the table's order; none where the link alone is too long."""
    for channel in REMOTE:
        try:
            yield compose(channel, story)
        except LinkTooLongError:
            continue


@dataclass(frozen=True, slots=True)
class _Layout:
    channel: Channel
    link: str | None
    headline: str = ""
    opening: str = ""
    points: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def text(self) -> str:
        points = (
            "\n".join(BULLET + each for each in self.points)
            if self.channel.bulleted
            else "\n\n".join(self.points)
        )
        link = f"{self.channel.invitation}{self.link}" if self.link else ""
        blocks = (self.headline, self.opening, points, link, " ".join(self.tags))
        return "\n\n".join(block for block in blocks if block)

    def fits(self) -> bool:
        text = self.text()
        return all(limit.holds(text) for limit in self.channel.limits)


def compose(channel: Channel, story: Story) -> Draft:
    """The post on `channel`: the link whole, the opening cut if it must be, the rest only where it fits whole.

    Raises:
        LinkTooLongError: there is no room for the link.
    """
    layout = _Layout(channel, story.link)
    if not layout.fits():
        layout = _Layout(replace(channel, invitation=""), story.link)
    if not layout.fits():
        raise LinkTooLongError(channel.name)
    layout = replace(
        layout,
        opening=cut(without_mentions(story.opening), lambda text: replace(layout, opening=text).fits()),
    )
    return _draft(channel, _filled(layout, story))


def _filled(layout: _Layout, story: Story) -> _Layout:
    """Hashtags, title and key points, in that order, as far as there is room."""
    for tag in story.tags[: layout.channel.hashtags]:
        layout = _grown(layout, replace(layout, tags=(*layout.tags, tag)))
    if _needs_headline(layout, story):
        layout = _grown(layout, replace(layout, headline=without_mentions(story.title)))
    for point in story.further_points:
        if len(layout.points) < layout.channel.points:
            layout = _grown(layout, replace(layout, points=(*layout.points, without_mentions(point))))
    return layout


def _needs_headline(layout: _Layout, story: Story) -> bool:
    """Short channels do without the title as long as their text names the subject."""
    if layout.channel.name == FEED:
        return False
    whole = layout.opening == story.opening
    says = story.opening_says if whole else comparable(layout.opening)
    if story.title_says in says:
        return False
    return layout.channel.headline or story.keyword_says not in says


def _grown(layout: _Layout, larger: _Layout) -> _Layout:
    return larger if larger.fits() else layout


def _draft(channel: Channel, layout: _Layout) -> Draft:
    text = layout.text()
    return Draft(
        channel=channel.name,
        text=text,
        counts=tuple(Count(limit.unit, limit.count(text), limit.maximum) for limit in channel.limits),
        facets=tuple(_facets(text, layout)) if channel.name == "bluesky" else (),
        api_text=channel.escape(text) if channel.escape else None,
    )


def _facets(text: str, layout: _Layout) -> Iterator[Facet]:
    """Only what we put there ourselves is marked: link and hashtags, at the end of the text."""
    end = len(text)
    found = []
    for tag in reversed(layout.tags):
        start = text.rindex(tag, 0, end)
        found.append((start, tag, "tag", tag[1:]))
        end = start
    if layout.link:
        found.append((text.rindex(layout.link, 0, end), layout.link, "link", layout.link))
    for start, part, kind, target in reversed(found):
        offset = utf8_bytes(text[:start])
        yield Facet(offset, offset + utf8_bytes(part), kind, target)
