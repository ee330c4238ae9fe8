"""Lists all posts of a brand, the newest first: those under review, those for other platforms, and those in the feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field

from chassis import Connection
from chassis.http import calendars
from chassis.http.api import UNKNOWN, MayRead, Moment, View, router
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import INVALID_CURSOR, RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from review.rules import PostState

WITHOUT_NUL: Final = r"^[^\x00]*$"
MOST_COUNTED: Final = 10_000
"""Posts of a filter that are counted."""
_ELSEWHERE: Final = """
    select post_id, content_id, coalesce(channel, entry) as channel, account, version,
           case state when 'planned' then 'scheduled' when 'new' then 'sending' else state end as state,
           material ->> 'title' as title, coalesce(text, '') as text, material ->> 'link' as link,
           since, due_at, posted_at, coalesce(posted_at, due_at, since) as at, post_url, reason, detail,
           case when state in ('planned', 'sending') then coalesce(retry_at, held_until) end as retry_at
    from channel_posts where brand_slug = $1
"""
_UNDER_REVIEW: Final = """
    select post_id, content_id, channel, null::text as account, version,
           case when state = 'waiting' and publish_at is not null then 'scheduled' else state end as state,
           title, text, link, since, publish_at as due_at, null::timestamptz as posted_at, coalesce(publish_at, since) as at,
           null::text as post_url, '' as reason, '' as detail, held_until as retry_at
    from pending_posts where brand_slug = $1 and state <> 'posted'
"""
_IN_THE_FEED: Final = """
    select post_id, content_id, channel, null::text as account, 1 as version, 'posted' as state, title, text, link,
           posted_at as since, null::timestamptz as due_at, posted_at, posted_at as at, null::text as post_url, '' as reason,
           '' as detail, null::timestamptz as retry_at
    from posts where brand_slug = $1
"""
_STORED_ELSEWHERE: Final = {PostState.SCHEDULED: "'planned'", PostState.SENDING: "'new', 'sending'"}
"""The states of channel_posts that are shown as another; by the columns themselves, as their indexes have them."""
_STORED_UNDER_REVIEW: Final = {
    PostState.WAITING: "and state = 'waiting' and publish_at is null",
    PostState.SCHEDULED: "and state = 'waiting' and publish_at is not null",
    PostState.REJECTED: "and state = 'rejected'",
}


OfBrand = Annotated[BrandSlug, Path(description="The brand.")]
InState = Annotated[PostState | None, Query(description="Only posts in this state.")]
WithText = Annotated[
    str | None,
    Query(
        description="Only posts with this in their text or in the title of their article.",
        min_length=1,
        max_length=200,
        pattern=WITHOUT_NUL,
    ),
]
SinceTime = Annotated[
    Moment | None, Query(description="Only posts that went out, are due or were made from this time on.")
]
OnChannel = Annotated[
    str | None,
    Query(
        description="Only posts on this channel or account.",
        min_length=1,
        max_length=100,
        pattern=WITHOUT_NUL,
    ),
]
AboutArticle = Annotated[UUID | None, Query(description="Only posts about this article.")]


@dataclass(frozen=True, slots=True)
class PostFilter:
    """Search conditions; None means any."""

    state: PostState | None = None
    text: str | None = None
    """A part of the text or of the article's title, ignoring case."""
    since: datetime | None = None
    channel: str | None = None
    content_id: UUID | None = None


class ListedPost(View):
    """A post of a brand. `/v1/posts/{post_id}` has its length and its decisions."""

    post_id: UUID
    content_id: UUID
    channel: Annotated[str, Field(examples=["mastodon"])]
    account: str | None
    """The account at the gateway; null for the built-in feed and while unknown."""
    state: PostState
    version: int
    title: str
    """Of the article."""
    text: str
    link: str | None
    at: datetime
    """When it went out or is due; without such a time, when it was made."""
    since: datetime
    """Start of its wait."""
    due_at: datetime | None
    """Its set time, if it has one."""
    posted_at: datetime | None
    post_url: str | None
    """Its address on another platform, once it is posted; a post in the built-in feed has it at `/v1/posts/{post_id}`."""
    reason: str
    """Code of why it is not out; empty without a problem."""
    detail: str
    """The same for people, with what to do."""
    retry_at: datetime | None
    """Time of the next attempt."""


class BrandPostList(View):
    items: tuple[ListedPost, ...]
    """The newest first."""
    next: str | None
    """`after` of the next page; null on the last."""


class PostCount(View):
    count: int
    is_exact: bool
    """False if there are more than are counted."""


async def search_posts(
    connection: Connection, brand: str, wanted: PostFilter, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[dict[str, Any]]:
    """A page of a brand's posts, the newest first.

    Args:
        connection: to the service's database.
        brand: the brand's slug.
        wanted: the search conditions.
        after: time and id of the former page's last post.
        limit: posts at most.
    """
    query, values = _newest(brand, wanted, after, limit)
    rows = await connection.fetch(query, *values)
    return [dict(row) for row in rows]


async def count_posts(connection: Connection, brand: str, wanted: PostFilter) -> int:
    """Counts a brand's posts that a filter lets through, up to MOST_COUNTED."""
    query, values = _newest(brand, wanted, None, MOST_COUNTED)
    counted: int = await connection.fetchval(
        f"select count(*) from ({query}) as counted",  # noqa: S608  (constants of this module)
        *values,
    )
    return counted


def _newest(
    brand: str, wanted: PostFilter, after: tuple[datetime, UUID] | None, limit: int
) -> tuple[str, list[Any]]:
    """The query of a page of posts, with the values of its parameters."""
    values: list[Any] = [brand, limit]
    conditions = ["true"]

    def add(condition: str, *more: Any) -> None:
        numbers = [f"${len(values) + number}" for number in range(1, len(more) + 1)]
        conditions.append(condition.format(*numbers))
        values.extend(more)

    if wanted.text is not None:
        add("position(lower({}::text) in lower(title || ' ' || text)) > 0", wanted.text)
    if wanted.since is not None:
        add("at >= {}::timestamptz", wanted.since)
    if wanted.channel is not None:
        add("{}::text in (channel, account)", wanted.channel)
    if wanted.content_id is not None:
        add("content_id = {}::uuid", wanted.content_id)
    if after is not None:
        add("(at, post_id) < ({}::timestamptz, {}::uuid)", *after)
    # Each table gives its own newest ones, in the order of its index.
    newest = "order by at desc, post_id desc limit $2"
    pages = [
        f"(select * from ({each}) as found where {' and '.join(conditions)} {newest})"  # noqa: S608  (constants of this module)
        for each in _sources(wanted.state)
    ]
    return f"select * from ({' union all '.join(pages)}) as found {newest}", values  # noqa: S608


def _sources(state: PostState | None) -> list[str]:
    """The queries of all tables that have posts in a state; None: in any."""
    if state is None:
        return [_ELSEWHERE, _UNDER_REVIEW, _IN_THE_FEED]
    stored = _STORED_ELSEWHERE.get(state, f"'{state.value}'")
    sources = [f"{_ELSEWHERE} and state in ({stored})"]
    if state in _STORED_UNDER_REVIEW:
        sources.append(f"{_UNDER_REVIEW} {_STORED_UNDER_REVIEW[state]}")
    if state is PostState.POSTED:
        sources.append(_IN_THE_FEED)
    return sources


def post_search_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}", tags=["posts"])

    @routes.get("/posts", summary="Search a brand's posts", responses=UNKNOWN)
    async def list_brand_posts(
        caller: MayRead,
        slug: OfBrand,
        state: InState = None,
        q: WithText = None,
        since: SinceTime = None,
        channel: OnChannel = None,
        article: AboutArticle = None,
        after: Annotated[str | None, Query(description=AFTER, max_length=200)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> BrandPostList:
        """All posts of a brand in any state, also those that went to the built-in feed without review; the newest first."""
        caller.check_visible(slug)
        wanted = PostFilter(state, q, since, channel, article)
        async with database.connection() as connection:
            found = await search_posts(connection, slug, wanted, after=_place(after), limit=limit + 1)
        return BrandPostList(
            items=tuple(ListedPost.model_validate(each) for each in found[:limit]),
            next=_cursor(found[:limit]) if len(found) > limit else None,
        )

    @routes.get("/post-counts", summary="Number of a brand's posts", responses=UNKNOWN)
    async def get_post_count(
        caller: MayRead,
        slug: OfBrand,
        state: InState = None,
        q: WithText = None,
        since: SinceTime = None,
        channel: OnChannel = None,
        article: AboutArticle = None,
    ) -> PostCount:
        """The number of posts that the same filters list; at most 10,000 are counted."""
        caller.check_visible(slug)
        wanted = PostFilter(state, q, since, channel, article)
        async with database.connection() as connection:
            counted = await count_posts(connection, slug, wanted)
        return PostCount(count=counted, is_exact=counted < MOST_COUNTED)

    return routes


def _cursor(page: Sequence[dict[str, Any]]) -> str:
    return calendars.place(page[-1]["at"], str(page[-1]["post_id"]))


def _place(after: str | None) -> tuple[datetime, UUID] | None:
    if (place := calendars.after_place(after)) is None:
        return None
    try:
        return place[0], UUID(place[1])
    except ValueError:
        raise RefusalError(
            INVALID_CURSOR, "after: is not the `next` of a page; leave it out for the first"
        ) from None
