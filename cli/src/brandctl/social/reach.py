"""`brandctl posts reach`: post metrics."""

from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.listing import Limit, Listing
from brandctl.social.client import Brand, PostsClient, SocialUrl, moment

_REACH: Final = Listing[dict[str, Any]](
    {
        "account": lambda post: post["account"],
        "posted": lambda post: moment(post["posted_at"]),
        "likes": lambda post: _latest(post, "likes"),
        "shares": lambda post: _latest(post, "shares"),
        "replies": lambda post: _latest(post, "replies"),
        "where": lambda post: post["post_url"] or "",
        "why not": lambda post: post["detail"],
    },
    nothing="no post has metrics; brandctl posts set-rules BRAND CHANNEL --reach turns them on, a day after a post",
)


def reach(
    brand: Brand,
    after: Annotated[int | None, typer.Option(help="The cursor that the previous page printed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the latest likes, shares, replies and views of a brand's posts, newest post first.

    For example:

        brandctl posts reach acme
    """
    with PostsClient.at(social_url, key_file) as posts:
        answer = posts.reach(brand, [], after=after, limit=limit)
    _REACH.show(answer["items"], answer, as_json=as_json, more=answer["next"])


def _latest(post: dict[str, Any], what: str) -> str:
    told = post["days"][-1][what] if post["days"] else None
    return "" if told is None else str(told)
