"""`brandctl measures`: views of a brand's articles, and clicks from its posts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterCursor, Brand, Limit
from brandctl.terminal import note
from client.errors import ClientError
from client.pages import MAX_PAGE, items_of
from client.services.publisher import Publisher
from client.services.social import Social

_NO_POST: Final = "no post"
_METRICS: Final = ("likes", "shares", "replies")
_COUNTED: Final = Listing(
    {
        "views": "views",
        "clicks": "clicks",
        "from": lambda article: _said(_by_channel(article["posts"])),
        "article": "title",
        "address": lambda article: article["url"] or "gone",
    },
    nothing="no views and no clicks in this time",
)


def measures(
    publisher: Publisher,
    social: Social,
    brand: Brand,
    days: Annotated[int, typer.Option(min=1, max=400)] = 30,
    last: Annotated[str | None, typer.Option(metavar="DATE")] = None,
    after: AfterCursor = None,
    limit: Limit = 50,
) -> Result:
    """Lists the views of a brand's articles and the clicks on short links in its posts, most first.

    Robots do not count; no cookies or IP addresses are used. brandctl brands set BRAND --short-links turns short links on;
    brandctl posts set-rules BRAND CHANNEL --reach adds the present likes, shares and replies.

    Options:
        days: Number of days, including the last one.
        last: The last day. [default: today]
    """
    told: dict[str, Any] = {**publisher.list_measures(brand, days=days, last=last, after=after, limit=limit)}
    received = _received(social, brand, [each["content_id"] for each in told["items"]])
    for article in told["items"]:
        article["reach"] = received.get(article["content_id"], {})
    listing = _COUNTED
    if received:
        reach = {each: lambda article, each=each: str(article["reach"].get(each, "")) for each in _METRICS}
        columns = [*_COUNTED.columns.items()]
        listing = replace(_COUNTED, columns=dict([*columns[:3], *reach.items(), *columns[3:]]))
    came = _said({each["channel"] or _NO_POST: each["clicks"] for each in told["channels"]})
    clicks = f"{told['clicks']} clicks{f' ({came})' if came else ''}"
    return replace(
        listing.of(told), remark=f"{told['views']} views and {clicks} from {told['first']} to {told['last']}"
    )


def _received(social: Social, brand: str, articles: Sequence[str]) -> dict[str, dict[str, int]]:
    """Article id → likes, shares and replies of its posts; articles without post metrics are missing."""
    found: dict[str, Counter[str]] = {}
    try:
        posts = items_of(social.list_reach, brand, article=articles, limit=MAX_PAGE) if articles else ()
        for post in posts:
            for what, count in (post["days"][-1] if post["days"] else {}).items():
                if what in _METRICS and count is not None:
                    found.setdefault(post["content_id"], Counter())[what] += count
    except UsageError:
        pass  # without social's address there are only the publisher's views and clicks
    except ClientError as error:
        note(f"post metrics are left out: {error}")
    return {article: dict(counts) for article, counts in found.items()}


def _by_channel(posts: list[dict[str, Any]]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for post in posts:
        counted[post["channel"] or _NO_POST] += post["clicks"]
    return counted


def _said(channels: dict[str, int]) -> str:
    return ", ".join(f"{channel} {clicks}" for channel, clicks in channels.items())
