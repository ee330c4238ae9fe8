"""HTTP routes for a brand's rules of posts on a channel: place of the link, hashtags, and post metrics."""

from http import HTTPStatus
from typing import Annotated, Final, Self

from fastapi import APIRouter, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, router
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from social import problem_codes as codes
from social.channels import CHANNELS, REMOTE, Channel, Placement
from social.cutting import hashtag
from social.sending import store
from social.sending.domain import ChannelRules

_MOST_TAGS: Final = 30

Slug = Annotated[BrandSlug, Path(description="Of the brand.", examples=["daily-grind"])]
ChannelName = Annotated[
    str,
    Path(description="A kind of channel.", examples=["x"], pattern="^[a-z0-9]{1,20}$"),
]


def _tag(phrase: str) -> str:
    tag = hashtag(phrase.replace("#", ""))
    if tag is None:
        raise ValueError("is none that platforms take for a hashtag: letters and digits, 30 at most")
    return tag.removeprefix("#")


class RulesRequest(BaseModel):
    """A brand's rules for a channel; omitted fields take the channel's defaults."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    link: Annotated[Placement | None, Field(examples=["first_comment"])] = None
    """Place of the link: in the text, in a first comment below the post, or nowhere."""
    hashtags: Annotated[
        tuple[Annotated[str, Field(max_length=60), AfterValidator(_tag)], ...],
        Field(max_length=10, examples=[["HomeCoffee"]]),
    ] = ()
    """Hashtags before those of the article, with or without #."""
    most_hashtags: Annotated[int | None, Field(ge=0, le=_MOST_TAGS, examples=[2])] = None
    """Most hashtags, as far as they fit."""
    reach: bool = False
    """Whether social requests metrics of the posts of the last two weeks daily; needs `reach_possible`."""


class RulesView(View):
    channel: Annotated[str, Field(examples=["x"])]
    link: Placement
    """The effective rules of a channel, defaults included."""
    placements: tuple[Placement, ...]
    """Places that the channel allows."""
    hashtags: tuple[str, ...]
    most_hashtags: int
    reach: bool
    """Whether social requests post metrics."""
    reach_possible: bool
    """Whether the platform reports metrics free of charge."""
    is_set: bool
    """Whether the brand has rules for the channel."""

    @classmethod
    def of(cls, channel: Channel, rules: ChannelRules | None) -> Self:
        assert channel.sending is not None
        said = rules or ChannelRules()
        return cls(
            channel=channel.name,
            link=said.link or channel.network.placements[0],
            placements=channel.network.placements,
            hashtags=said.hashtags,
            most_hashtags=channel.network.hashtags if said.most_tags is None else said.most_tags,
            reach=said.reach,
            reach_possible=channel.network.has_metrics,
            is_set=rules is not None,
        )


class RulesList(View):
    items: tuple[RulesView, ...]


def rule_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/channels", tags=["channels"])

    @routes.get("", summary="List the rules of channels")
    async def list_channel_rules(caller: MayRead, slug: Slug) -> RulesList:
        """The effective rules of all channels that send posts."""
        brand = caller.check_visible(slug)
        async with database.connection() as connection:
            known = await store.all_rules_of(connection, brand)
        channels = [each for each in REMOTE if each.sending is not None]
        return RulesList(items=tuple(RulesView.of(each, known.get(each.name)) for each in channels))

    @routes.get("/{channel}", summary="Read the rules of a channel", responses=UNKNOWN)
    async def get_channel_rules(caller: MayRead, slug: Slug, channel: ChannelName) -> RulesView:
        """The effective rules, defaults included."""
        brand, known = caller.check_visible(slug), _known(channel)
        async with database.connection() as connection:
            said = await store.all_rules_of(connection, brand)
        return RulesView.of(known, said.get(channel))

    @routes.put("/{channel}", summary="Set the rules of a channel", responses=UNKNOWN)
    async def set_channel_rules(
        caller: MayOperate, slug: Slug, channel: ChannelName, request: RulesRequest
    ) -> RulesView:
        """For new posts. The same request again changes nothing."""
        brand, known = caller.check_visible(slug), _known(channel)
        assert known.sending is not None
        if request.link is not None and request.link not in known.network.placements:
            possible = ", ".join(known.network.placements)
            raise RefusalError(codes.INVALID_RULE, f"link: on {known.network.title} it can be {possible}")
        if request.reach and not known.network.has_metrics:
            raise RefusalError(
                codes.INVALID_RULE,
                f"reach: {known.network.title} is not asked how posts were received; leave it out",
            )
        hashtags = tuple(dict.fromkeys(request.hashtags))
        rules = ChannelRules(request.link, hashtags, request.most_hashtags, request.reach)
        async with database.transaction() as tx:
            await store.put_rules(tx.connection, brand, channel, rules)
        return RulesView.of(known, rules)

    @routes.delete(
        "/{channel}",
        summary="Remove the rules of a channel",
        status_code=HTTPStatus.NO_CONTENT,
        responses=UNKNOWN,
    )
    async def delete_channel_rules(caller: MayOperate, slug: Slug, channel: ChannelName) -> None:
        """New posts follow the defaults. Without rules, the request succeeds, too."""
        brand = caller.check_visible(slug)
        async with database.transaction() as tx:
            await store.delete_rules(tx.connection, brand, _known(channel).name)

    return routes


def _known(name: str) -> Channel:
    channel = CHANNELS.get(name)
    if channel is None or channel.sending is None:
        raise RefusalError(codes.UNKNOWN_CHANNEL, f"there is no channel '{name}' on which posts can be sent")
    return channel
