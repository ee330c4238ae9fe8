"""Makes posts and drafts of articles, and decides which channels get one. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NewType
from uuid import UUID, uuid5

from chassis.links import public_link
from envelope.brand.payloads import SocialCreate
from social.channels import BUILT_IN, CHANNELS, FEED
from social.composing import ChannelDraft, compose, drafts
from social.cutting import clean_line, hashtag
from social.story import Story, StorySource

BrandSlug = NewType("BrandSlug", str)
PostId = NewType("PostId", UUID)

_IDENTIFIER: Final = re.compile(r"[_().:/\[\]]")
_POSTS: Final = UUID("6f0c2b1e-5a3d-5c57-9d0e-1f0f7a1f3b52")


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
        return self.kept_drafts if self.story is None else drafts(self.story)


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
    texts = [clean_line(text) for text in (article.opening, *article.key_points)]
    origins = article.origins if len(article.origins) == len(texts) else (0,) * len(texts)
    points = [(text, origin) for text, origin in zip(texts[1:], origins[1:], strict=True) if text]
    story = Story(
        # An article of invisible characters still needs something to click on.
        title=_capitalised(clean_line(article.title) or keyword or brand_name(command)),
        keyword=keyword,
        description=clean_line(article.meta_description),
        points=tuple(text for text, _ in points),
        tags=(),
        link=command.published_url,
        opening=texts[0],
        headings=tuple(filter(None, map(clean_line, article.headings))),
        sources=tuple(
            StorySource(
                clean_line(each.title),
                clean_line(each.author or "") or None,
                clean_line(each.licence or "") or None,
            )
            for each in article.sources
        ),
        origins=tuple(
            origin if origin <= len(article.sources) else 0
            for origin in (origins[0], *(origin for _, origin in points))
        ),
        language=command.language,
    )
    return replace(story, tags=_hashtags(story, command.tags))


def _capitalised(title: str) -> str:
    """A title that starts with a word in lower case, such as a keyword as it was typed, begins a post with a capital."""
    first = title.partition(" ")[0]
    # The name of a function stays as it is: "convhulln (Convex hull)".
    is_word = first.islower() and first.replace("-", "").isalpha() and not title.startswith(f"{first} (")
    return title[:1].upper() + title[1:] if is_word else title


def _hashtags(story: Story, tags: Iterable[str]) -> tuple[str, ...]:
    """The brand's tags, and a keyword of one word. Hashtags of words joined by a program, or of its names, have no followers.

    In a manual a single word such as "security" is the title of a part, unless the texts use it as a name.
    """
    keyword = story.keyword
    is_tag = len(keyword.split()) == 1 and not _IDENTIFIER.search(keyword)
    if is_tag and story.is_manual:
        is_tag = keyword in story.proper_names
    made = filter(None, map(hashtag, (*((keyword,) if is_tag else ()), *tags)))
    return tuple({tag.casefold(): tag for tag in made}.values())


def brand_name(command: SocialCreate) -> str:
    """The brand's name from the command, else made from the slug: `daily-grind` → `Daily Grind`."""
    if command.brand_name and (named := clean_line(command.brand_name)):
        return named
    slug = command.brand_slug
    return " ".join(word[:1].upper() + word[1:] for word in slug.split("-"))
