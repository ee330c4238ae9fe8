"""`brandctl measures`: views of a brand's articles, and clicks from its posts."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.errors import UsageError
from brandctl.listing import Limit, Listing
from brandctl.publisher.client import PublisherUrl, SitesClient
from brandctl.social.client import PostsClient
from brandctl.terminal import note

_NO_POST: Final = "no post"

_COUNTED: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "views": lambda article: str(article["views"]),
    "clicks": lambda article: str(article["clicks"]),
    "from": lambda article: _said(_by_channel(article["posts"])),
}
_RECEIVED: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    each: lambda article, each=each: str(article["reach"].get(each, ""))  # type: ignore[misc]
    for each in ("likes", "shares", "replies")
}
_NAMED: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "article": lambda article: article["title"],
    "address": lambda article: article["url"] or "gone",
}
_MOST_POSTS: Final = 200
"""The most posts on a page of social's answer."""


def measures(
    brand: Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")],
    days: Annotated[int, typer.Option(min=1, max=400, help="Number of days, including the last one.")] = 30,
    last: Annotated[
        str | None, typer.Option(metavar="DATE", help="The last day.", show_default="today")
    ] = None,
    after: Annotated[str | None, typer.Option(help="The cursor that the previous page printed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    social_url: Annotated[str | None, PostsClient.address_option()] = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the views of a brand's articles and the clicks on short links in its posts, most first.

    Robots do not count; no cookies or IP addresses are used. brandctl brands set BRAND --short-links turns short links on;
    brandctl posts set-rules BRAND CHANNEL --reach adds the present likes, shares and replies.
    """
    with SitesClient.at(publisher_url, key_file) as sites:
        told = sites.measures(brand, days=days, last=last, after=after, limit=limit)
    received = _received(brand, told["items"], social_url, key_file)
    for article in told["items"]:
        article["reach"] = received.get(article["content_id"], {})
    columns = {**_COUNTED, **(_RECEIVED if received else {}), **_NAMED}
    listing = Listing[dict[str, Any]](columns, nothing="no views and no clicks in this time")
    listing.show(told["items"], told, as_json=as_json, more=told["next"])
    came = _said({each["channel"] or _NO_POST: each["clicks"] for each in told["channels"]})
    note(
        f"{told['views']} views and {told['clicks']} clicks{f' ({came})' if came else ''} from {told['first']} to {told['last']}"
    )


def _received(
    brand: str, articles: list[dict[str, Any]], social_url: str | None, key_file: Path | None
) -> dict[str, dict[str, int]]:
    """Article id → likes, shares and replies of its posts; articles without post metrics are missing."""
    found: dict[str, Counter[str]] = {}
    asked = [each["content_id"] for each in articles]
    try:
        with PostsClient.at(social_url, key_file) as posts:
            after: int | None = None
            while asked:
                answer = posts.reach(brand, asked, after=after, limit=_MOST_POSTS)
                for post in answer["items"]:
                    for what, count in (post["days"][-1] if post["days"] else {}).items():
                        if what in _RECEIVED and count is not None:
                            found.setdefault(post["content_id"], Counter())[what] += count
                after = answer["next"]
                if after is None:
                    break
    except UsageError:
        pass  # without social's address there are only the publisher's views and clicks
    except ServiceError as error:
        note(f"post metrics are left out: {error}")
    return {article: dict(counts) for article, counts in found.items()}


def _by_channel(posts: list[dict[str, Any]]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for post in posts:
        counted[post["channel"] or _NO_POST] += post["clicks"]
    return counted


def _said(channels: dict[str, int]) -> str:
    return ", ".join(f"{channel} {clicks}" for channel, clicks in channels.items())
