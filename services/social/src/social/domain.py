"""Makes posts and drafts of articles, and decides which channels get one. Pure: no I/O, no clock, no randomness."""

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
    """The cleaned texts of an article for posts; `tags` have their #, the most specific first."""

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
        """The first sentence for a channel: the one at its place, modulo their number."""
        return self.said[place % len(self.said)] if self.said else self.title

    # The properties below are the same for every channel, and computing them is slow.

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
        """The statements, each with its comparable form."""
        return {each: comparable(each) for each in self.said}

    def further_points(self, opening: str) -> tuple[str, ...]:
        """The statements that differ from the opening: first those after it, then those before it."""
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
    """A draft for another channel. People copy `text`; `api_text` is the API's form if that differs."""

    channel: str
    text: str
    counts: tuple[TextCount, ...]
    facets: tuple[Facet, ...] = ()
    api_text: str | None = None


@dataclass(frozen=True, slots=True)
class FeedPost:
    """A post in the brand's own feed."""

    post_id: PostId
    brand_slug: BrandSlug
    content_id: UUID
    channel: str
    title: str
    text: str
    tags: tuple[str, ...]
    link: str | None
    story: Story | None = None
    """None for a post from a version that did not store it."""
    kept_drafts: tuple[ChannelDraft, ...] = ()
    """Stored drafts, if the story is unknown."""

    @property
    def drafts(self) -> tuple[ChannelDraft, ...]:
        """Drafts for other channels, composed on demand, since readers rarely open them."""
        return self.kept_drafts if self.story is None else _drafts(self.story)


@dataclass(frozen=True, slots=True)
class PostRefusal:
    """Why a channel gets no post: a code for programs and a sentence for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class PostPlan:
    """The decision about a command: the feed's post, if any, and an outcome for each requested channel."""

    post: FeedPost | None
    outcomes: tuple[tuple[str, PostRefusal | None], ...]  # (channel as the command spelled it, None = posted)
    elsewhere: tuple[str, ...] = ()
    """Channels that depend on the gateway's accounts."""


class LinkTooLongError(ValueError):
    """The link alone exceeds the channel's limit."""


def plan(command: SocialCreate, *, has_gateway: bool = False) -> PostPlan:
    """Decides about each channel of a command; a repeated channel counts once.

    With a gateway, channels other than the feed depend on its accounts, and end up in `elsewhere`.
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
            f"no {channel.network.title} account is connected, so nothing was posted there; "
            f"use the channel “{FEED}”: its pages have a draft for {channel.network.title} to copy",
        )
    return None


def _problem_with_link(link: str | None) -> PostRefusal | None:
    if link is None or is_web_address(link):
        return None
    return PostRefusal(
        "invalid_link", "published_url is not an http(s) address, so no post can link to the article"
    )


def is_web_address(link: str) -> bool:
    return clean_line(link) == link and public_link(link) is not None


def post_id(content_id: UUID, channel: str) -> PostId:
    """The id of an article's post on a channel; the same for each repeated command, so that addresses stay."""
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
        tags=story.tags[: BUILT_IN.network.hashtags],
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
    """The brand's name from the command, else made from the slug: `daily-grind` → `Daily Grind`."""
    if command.brand_name and (named := clean_line(command.brand_name)):
        return named
    slug = command.brand_slug
    return " ".join(word[:1].upper() + word[1:] for word in slug.split("-"))


# --- composing ------------------------------------------------------------------------------------------------------


def drafts(story: Story) -> Iterator[ChannelDraft]:
    """A draft for each other channel, in the table's order; channels with too little room for the link are left out."""
    for channel in REMOTE:
        if not channel.network.drafted:
            continue
        try:
            yield compose(channel, story)
        except LinkTooLongError:
            continue


@lru_cache(maxsize=32)
def _drafts(story: Story) -> tuple[ChannelDraft, ...]:
    # A cache, since composing long texts takes time.
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
            if self.channel.network.bulleted
            else "\n\n".join(self.points)
        )
        link = f"{self.channel.network.invitation}{self.link}" if self.link else ""
        blocks = (self.headline, self.opening, points, link, " ".join(self.tags))
        return "\n\n".join(block for block in blocks if block)

    def fits(self) -> bool:
        text = self.text()
        return all(limit.holds(text) for limit in self.channel.limits)


def compose(channel: Channel, story: Story) -> ChannelDraft:
    """Composes a post for `channel`: the link whole, the opening cut if needed, other parts only if they fit whole.

    Raises:
        LinkTooLongError: the link does not fit.
    """
    layout = _PostLayout(channel, story.link)
    if not layout.fits():
        layout = _PostLayout(channel.with_style(invitation=""), story.link)
    if not layout.fits():
        raise LinkTooLongError(channel.name)
    opening = story.opening(channel.network.opening)
    layout = replace(
        layout,
        opening=cut(without_mentions(opening), lambda text: replace(layout, opening=text).fits()),
    )
    return _draft(channel, _filled(layout, story, opening))


def _filled(layout: _PostLayout, story: Story, opening: str) -> _PostLayout:
    """Adds hashtags, title and key points, in that order, while they fit."""
    for tag in story.tags[: layout.channel.network.hashtags]:
        layout = _grown(layout, replace(layout, tags=(*layout.tags, tag)))
    if _needs_headline(layout, story, opening):
        layout = _grown(layout, replace(layout, headline=without_mentions(story.title)))
    for point in story.further_points(opening):
        if len(layout.points) < layout.channel.network.points:
            layout = _grown(layout, replace(layout, points=(*layout.points, without_mentions(point))))
    # Channels have different points, but always in the order of the article, with the definition first.
    places = {without_mentions(each): place for place, each in enumerate(story.said)}
    return _grown(layout, replace(layout, points=tuple(sorted(layout.points, key=places.__getitem__))))


def _needs_headline(layout: _PostLayout, story: Story, opening: str) -> bool:
    """Whether a post needs the title: short channels omit it if their text names the keyword."""
    if layout.channel.name == FEED:
        return False
    known = story.says.get(opening) if layout.opening == opening else None
    says = comparable(layout.opening) if known is None else known
    if story.title_says in says:
        return False
    return layout.channel.network.headline or story.keyword_says not in says


def _grown(layout: _PostLayout, larger: _PostLayout) -> _PostLayout:
    return larger if larger.fits() else layout


def _draft(channel: Channel, layout: _PostLayout) -> ChannelDraft:
    text = layout.text()
    return ChannelDraft(
        channel=channel.name,
        text=text,
        counts=tuple(TextCount(limit.unit, limit.count(text), limit.maximum) for limit in channel.limits),
        facets=tuple(_facets(text, layout)) if channel.network.has_facets else (),
        api_text=channel.escape(text) if channel.escape else None,
    )


def _facets(text: str, layout: _PostLayout) -> Iterator[Facet]:
    """Facets for the link and the hashtags that `compose` added at the end of the text."""
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
