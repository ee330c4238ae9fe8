"""`brandctl posts rules`, `set-rules`, `remove-rules` and `reach`: rules for posts on each channel, and post metrics."""

from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.listing import Listing
from brandctl.options import AfterNumber, Brand, Limit
from brandctl.times import in_utc
from client.connections import UNSET
from client.services.social import Social

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="Kind of channel, such as x.")]
_RULES: Final = Listing(
    {
        "channel": "channel",
        "link": "link",
        "hashtags": lambda rules: " ".join(f"#{each}" for each in rules["hashtags"]),
        "at most": "most_hashtags",
        "reach": lambda rules: "asked" if rules["reach"] else "",
        "set": lambda rules: "yes" if rules["is_set"] else "",
    },
    nothing="no channels",
)


def _latest(post: dict[str, Any], what: str) -> str:
    told = post["days"][-1][what] if post["days"] else None
    return "" if told is None else str(told)


_REACH: Final = Listing(
    {
        "account": "account",
        "posted": lambda post: in_utc(post["posted_at"]),
        "likes": lambda post: _latest(post, "likes"),
        "shares": lambda post: _latest(post, "shares"),
        "replies": lambda post: _latest(post, "replies"),
        "where": "post_url",
        "why not": "detail",
    },
    nothing="no post has metrics; brandctl posts set-rules BRAND CHANNEL --reach turns them on, a day after a post",
)


def rules(social: Social, brand: Brand) -> Result:
    """Shows a brand's rules for posts on each channel: the place of the link, and hashtags.

    For example:

        brandctl posts rules acme
    """
    return _RULES.of(social.list_channel_rules(brand), more=False)


def set_rules(
    social: Social,
    brand: Brand,
    channel: Channel,
    link: str | None = None,
    hashtag: list[str] | None = None,
    most_hashtags: Annotated[int | None, typer.Option(min=0, max=30, show_default="as usual there")] = None,
    reach: bool = False,
) -> Result:
    """Sets the place of the link and the hashtags of a brand's posts on a channel; options left out take the channel's defaults.

    For example:

        brandctl posts set-rules acme x --link first_comment --hashtag HomeCoffee
        brandctl posts set-rules acme mastodon --reach

    Options:
        link: in_text, first_comment or none. [default: as usual there]
        hashtag: A hashtag before those of the article; repeat for more.
        reach: Read post metrics from the platform daily: mastodon, bluesky.
    """
    wanted: dict[str, Any] = {"link": link, "hashtags": hashtag or [], "most_hashtags": most_hashtags}
    found = social.set_channel_rules(brand, channel, **wanted, reach=True if reach else UNSET)
    tags = " ".join(f"#{each}" for each in found["hashtags"]) or "those of the article"
    metrics = ", with post metrics" if found["reach"] else ""
    told = f"link {found['link']}, hashtags {tags}, {found['most_hashtags']} at most{metrics}"
    return Result(found, note=f"{brand} on {channel}: {told}")


def remove_rules(social: Social, brand: Brand, channel: Channel) -> Result:
    """Removes a brand's rules for a channel: its defaults apply from then on.

    For example:

        brandctl posts remove-rules acme x
    """
    social.delete_channel_rules(brand, channel)
    return Result(
        {"brand": brand, "channel": channel}, remark=f"{brand} on {channel}: the channel's defaults apply"
    )


def reach(social: Social, brand: Brand, after: AfterNumber = None, limit: Limit = 50) -> Result:
    """Lists the latest likes, shares, replies and views of a brand's posts, newest post first.

    For example:

        brandctl posts reach acme
    """
    return _REACH.of(social.list_reach(brand, after=after, limit=limit))
