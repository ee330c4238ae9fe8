"""`/b/{brand}/posts/reach`: how a brand's posts were received."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.list_filters import safe_link
from console.pages import Viewer, page
from integrations.networks import NETWORKS

_PAGE: Final = 50
_LONGEST_CURSOR: Final = 18
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ReceivedPost:
    """The newest numbers of a post; None where the network tells none."""

    id: str
    channel: str
    account: str
    posted_at: str
    url: str | None
    likes: int | None
    shares: int | None
    replies: int | None
    detail: str


def received_post(post: Mapping[str, Any]) -> ReceivedPost:
    days = post["days"]
    last = days[-1] if days else {"likes": None, "shares": None, "replies": None}
    named = NETWORKS.get(post["channel"])
    return ReceivedPost(
        post["post_id"],
        named.title if named else post["channel"],
        post["account"],
        post["posted_at"],
        safe_link(post["post_url"]),
        last["likes"],
        last["shares"],
        last["replies"],
        post["detail"],
    )


@router.get("/b/{brand}/posts/reach")
async def show_reach(request: Request, brand: str, viewer: Viewer) -> Response:
    """The newest likes, shares and replies of the brand's posts, the newest post first."""
    asked = request.query_params.get("after", "")
    after = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) <= _LONGEST_CURSOR else None
    parts = await viewer.gather(found=viewer.social.list_reach(brand, after=after, limit=_PAGE))
    found = parts["found"]
    return page(
        request,
        viewer,
        "posts/reach.html.j2",
        **parts,
        brand=brand,
        lines=[received_post(each) for each in found["items"]] if found else [],
        is_continued=after is not None,
    )
