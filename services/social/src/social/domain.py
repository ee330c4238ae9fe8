"""What is posted where: stories made into posts and drafts. Pure: no I/O, no clock, no randomness."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NewType, Self
from uuid import UUID, uuid5

from chassis.links import public_link
from envelope.brand.payloads import SocialCreate
from social.channels import BUILT_IN, CHANNELS, FEED, REMOTE, Channel, Facet
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

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            title=stored["title"],
            keyword=stored["keyword"],
            description=stored["description"],
            points=tuple(stored["points"]),
            tags=tuple(stored["tags"]),
            link=stored["link"],
        )

    def opening(self, place: int) -> str:
        """The hook of a channel: that of its place, counted around."""
        return self.said[place % len(self.said)] if self.said else self.title

    # What follows is the same for every channel, and reading texts word by word is slow.

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The description and the key points, each once."""
        each_once: dict[str, str] = {}
        for each in filter(None, (self.description, *self.points)):
            each_once.setdefault(comparable(each), each)
        return tuple(each_once.values())

    @cached_property
    def title_says(self) -> str:
        return comparable(self.title)

    @cached_property
    def keyword_says(self) -> str:
        return comparable(self.keyword)

    @cached_property
    def says(self) -> dict[str, str]:
        """What is said, comparable."""
        return {each: comparable(each) for each in self.said}

    def further_points(self, opening: str) -> tuple[str, ...]:
        """What says something else than the opening: what follows upon it, then what stands before it."""
        if opening not in self.says:
            return self.said
        opened, place = self.says[opening], self.said.index(opening)
        others = ((each, self.says[each]) for each in (*self.said[place + 1 :], *self.said[:place]))
        return tuple(each for each, says in others if says not in opened and opened not in says)


@dataclass(frozen=True, slots=True)
class TextCount:
    unit: str
    used: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """`text` is what people copy; `api_text` what the channel's API wants instead, where that differs."""

    channel: str
    text: str
    counts: tuple[TextCount, ...]
    facets: tuple[Facet, ...] = ()
    api_text: str | None = None


@dataclass(frozen=True, slots=True)
class FeedPost:
    """A post of the brand's own feed."""

    post_id: PostId
    brand_slug: BrandSlug
    content_id: UUID
    channel: str
    title: str
    text: str
    tags: tuple[str, ...]
    link: str | None
    story: Story | None = None
    """What there was to say. None: it is not known any more."""
    kept_drafts: tuple[ChannelDraft, ...] = ()
    """Where the story is not known."""

    @property
    def drafts(self) -> tuple[ChannelDraft, ...]:
        """How it would read elsewhere: composed when it is asked for, as hardly anybody does."""
        return self.kept_drafts if self.story is None else _drafts(self.story)


@dataclass(frozen=True, slots=True)
class PostRefusal:
    """Why there is no post on a channel: a code for programs, a sentence for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class PostPlan:
    """What a command comes to: the post to make, if any, and an outcome for each channel that was asked for."""

    post: FeedPost | None
    outcomes: tuple[tuple[str, PostRefusal | None], ...]  # (channel as the command spelled it, None = posted)
    elsewhere: tuple[str, ...] = ()
    """Channels of which the gateway's accounts decide."""


class LinkTooLongError(ValueError):
    """The link alone is longer than the channel allows."""


def plan(command: SocialCreate, *, has_gateway: bool = False) -> PostPlan:
    """Decide for each channel of a command; a channel named twice is decided once.

    With a gateway, what is no channel of ours is decided about when it has been asked for its accounts.
    """
    asked = dict.fromkeys(command.channels)
    link_problem = _problem_with_link(command.published_url)
    elsewhere = tuple(name for name in asked if has_gateway and not link_problem and not _is_feed(name))
    outcomes = tuple(
        (name, link_problem or _problem_with_channel(name)) for name in asked if name not in elsewhere
    )
    wanted = any(problem is None for _, problem in outcomes)
    return PostPlan(_post(command) if wanted else None, outcomes, elsewhere)


def is_known_in_feed(command: SocialCreate) -> bool:
    """Whether the post in the feed was announced before."""
    return any(_is_feed(post.platform) for post in command.known_posts)


def _is_feed(name: str) -> bool:
    return name.strip().casefold() == FEED


def _problem_with_channel(name: str) -> PostRefusal | None:
    channel = CHANNELS.get(name.strip().casefold())
    if channel is None:
        known = ", ".join(CHANNELS)
        return PostRefusal("unknown_channel", f"there is no channel “{name}”; choose among: {known}")
    if channel.name != FEED:
        return PostRefusal(
            "channel_not_connected",
            f"no {channel.label} account is connected, so nothing was posted there; "
            f"use the channel “{FEED}”, whose pages hold a draft for {channel.label} to copy",
        )
    return None


def _problem_with_link(link: str | None) -> PostRefusal | None:
    if link is None or is_web_address(link):
        return None
    return PostRefusal(
        "invalid_link", "published_url is no http(s) address, so no post could lead to the article"
    )


def is_web_address(link: str) -> bool:
    return clean_line(link) == link and public_link(link) is not None


def post_id(content_id: UUID, channel: str) -> PostId:
    """The same for every repetition of a command, so that a post's address never changes."""
    return PostId(uuid5(_POSTS, f"{content_id}/{channel}"))


def _post(command: SocialCreate) -> FeedPost:
    story = story_of(command)
    return FeedPost(
        post_id=post_id(command.content_id, FEED),
        brand_slug=BrandSlug(command.brand_slug),
        content_id=command.content_id,
        channel=FEED,
        title=story.title,
        text=compose(BUILT_IN, replace(story, link=None, tags=())).text,
        tags=story.tags[: BUILT_IN.hashtags],
        link=story.link,
        story=story,
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


def drafts(story: Story) -> Iterator[ChannelDraft]:
    """One for each channel elsewhere, in the table's order; none where the link alone is too long."""
    for channel in REMOTE:
        if not channel.drafted:
            continue
        try:
            yield compose(channel, story)
        except LinkTooLongError:
            continue


@lru_cache(maxsize=32)
def _drafts(story: Story) -> tuple[ChannelDraft, ...]:
    # What is looked at again and again is not composed again and again: long texts take their time.
    return tuple(drafts(story))


@dataclass(frozen=True, slots=True)
class _PostLayout:
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


def compose(channel: Channel, story: Story) -> ChannelDraft:
    """The post on `channel`: the link whole, the opening cut if it must be, the rest only where it fits whole.

    Raises:
        LinkTooLongError: there is no room for the link.
    """
    layout = _PostLayout(channel, story.link)
    if not layout.fits():
        layout = _PostLayout(replace(channel, invitation=""), story.link)
    if not layout.fits():
        raise LinkTooLongError(channel.name)
    opening = story.opening(channel.opening)
    layout = replace(
        layout,
        opening=cut(without_mentions(opening), lambda text: replace(layout, opening=text).fits()),
    )
    return _draft(channel, _filled(layout, story, opening))


def _filled(layout: _PostLayout, story: Story, opening: str) -> _PostLayout:
    """Hashtags, title and key points, in that order, as far as there is room."""
    for tag in story.tags[: layout.channel.hashtags]:
        layout = _grown(layout, replace(layout, tags=(*layout.tags, tag)))
    if _needs_headline(layout, story, opening):
        layout = _grown(layout, replace(layout, headline=without_mentions(story.title)))
    for point in story.further_points(opening):
        if len(layout.points) < layout.channel.points:
            layout = _grown(layout, replace(layout, points=(*layout.points, without_mentions(point))))
    # Which ones stand there differs by channel; one after the other they read as in the article, the definition first.
    places = {without_mentions(each): place for place, each in enumerate(story.said)}
    return _grown(layout, replace(layout, points=tuple(sorted(layout.points, key=places.__getitem__))))


def _needs_headline(layout: _PostLayout, story: Story, opening: str) -> bool:
    """Short channels do without the title as long as their text names the subject."""
    if layout.channel.name == FEED:
        return False
    known = story.says.get(opening) if layout.opening == opening else None
    says = comparable(layout.opening) if known is None else known
    if story.title_says in says:
        return False
    return layout.channel.headline or story.keyword_says not in says


def _grown(layout: _PostLayout, larger: _PostLayout) -> _PostLayout:
    return larger if larger.fits() else layout


def _draft(channel: Channel, layout: _PostLayout) -> ChannelDraft:
    text = layout.text()
    return ChannelDraft(
        channel=channel.name,
        text=text,
        counts=tuple(TextCount(limit.unit, limit.count(text), limit.maximum) for limit in channel.limits),
        facets=tuple(_facets(text, layout)) if channel.name == "bluesky" else (),
        api_text=channel.escape(text) if channel.escape else None,
    )


def _facets(text: str, layout: _PostLayout) -> Iterator[Facet]:
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
