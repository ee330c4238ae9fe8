"""Lists all posts of a brand, the newest first: those under review, those for other platforms, and those in the feed."""

import re
from collections.abc import Iterable, Sequence
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
from social.channels import FEED

WITHOUT_NUL: Final = r"^[^\x00]*$"
MOST_COUNTED: Final = 10_000
"""Posts of a filter that are counted."""
MOST_COUNTED_WITH_WORDS: Final = 1_000
"""The same for a filter with words: each of those posts is read."""
_BY_WORDS: Final = "$1::text is not null"
"""Instead of the brand's own condition, where the words contain it: so only the indexes of words serve."""
_MOST_CHANNELS: Final = 50
"""Of one request for their newest posts."""
_NEWEST_ON_A_CHANNEL: Final = 10
_MOST_READ: Final = 300
"""The newest posts in which words are looked for, before the indexes of words are asked. A word in every sixth post fills a page."""
_JOINERS: Final = "-_./@:+&%~=?#<>"
"""Characters that PostgreSQL's text parser may treat as part of a word, as in an address."""
_APART: Final = re.compile(r"[\s'\"\\]+")


def _text_words(title: str, text: str) -> str:
    return (
        f"to_tsvector('simple', translate({title} || ' ' || {text}, '{_JOINERS}', '{' ' * len(_JOINERS)}'))"
    )


def _words(title: str, text: str) -> str:
    """The expression of an index of words (migrations 0035 to 0037). No word begins with the sign before the brand."""
    return f"({_text_words(title, text)} || array_to_tsvector(array['=' || brand_slug]))"


_COLUMNS: Final = """
    post_id, content_id, channel, account, version, state, title, text, link, since, due_at, posted_at, at, post_url, reason, detail, retry_at
"""
_ELSEWHERE: Final = f"""
    select post_id, content_id, coalesce(channel, entry) as channel, account, version,
           case state when 'planned' then 'scheduled' when 'new' then 'sending' else state end as state,
           material ->> 'title' as title, coalesce(text, '') as text, material ->> 'link' as link,
           since, due_at, posted_at, coalesce(posted_at, due_at, since) as at, post_url, reason, detail,
           case when state in ('planned', 'sending') then coalesce(retry_at, held_until) end as retry_at,
           {_words("(material ->> 'title')", "coalesce(text, '')")} as words
    from channel_posts where {{of_brand}}
"""  # noqa: S608  (constants of this module)
_UNDER_REVIEW: Final = f"""
    select post_id, content_id, channel, null::text as account, version,
           case when state = 'waiting' and publish_at is not null then 'scheduled' else state end as state,
           title, text, link, since, publish_at as due_at, null::timestamptz as posted_at, coalesce(publish_at, since) as at,
           null::text as post_url, '' as reason, '' as detail, held_until as retry_at, {_words("title", "text")} as words
    from pending_posts where {{of_brand}} and state <> 'posted'
"""  # noqa: S608  (constants of this module)
_IN_THE_FEED: Final = f"""
    select post_id, content_id, channel, null::text as account, 1 as version, 'posted' as state, title, text, link,
           posted_at as since, null::timestamptz as due_at, posted_at, posted_at as at, null::text as post_url, '' as reason,
           '' as detail, null::timestamptz as retry_at, {_words("title", "text")} as words
    from posts where {{of_brand}}
"""  # noqa: S608  (constants of this module)
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
        description="Only posts with these words, or words that begin so, in their text or in the title of their article.",
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
    """Words, or beginnings of words, of the text or of the article's title."""
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

    Words are looked for in the newest posts first: common ones fill a page there, and sorting all posts with them takes long. Then the
    indexes of words find all posts with them: reading on in order could take seconds until a page is full.

    Args:
        connection: to the service's database.
        brand: the brand's slug.
        wanted: the search conditions.
        after: time and id of the former page's last post.
        limit: posts at most.
    """
    filtered = _Conditions(brand, wanted)
    if after is not None:
        filtered.add("(at, post_id) < ({}::timestamptz, {}::uuid)", *after)
    if wanted.text is not None:
        recent, is_all = await _among_newest(connection, filtered.copy(), wanted, limit)
        if is_all or len(recent) == limit:
            return recent
        found = await _newest_with(connection, filtered.copy(), wanted, limit)
        if not found:
            return []
        filtered.add("post_id = any ({}::uuid[])", found)
    page = _newest(_COLUMNS, filtered, _sources(wanted), limit)
    return [dict(row) for row in await connection.fetch(page, *filtered.values)]


async def _among_newest(
    connection: Connection, filtered: "_Conditions", wanted: PostFilter, limit: int
) -> tuple[list[dict[str, Any]], bool]:
    """Returns the posts with the words among the newest `_MOST_READ` that match the other conditions, and whether no more match."""
    newest = _newest(_COLUMNS, filtered, _sources(wanted), _MOST_READ)
    words = _words_of(wanted.text or "")
    query, most = filtered.value(_words_query(words)), filtered.value(limit)
    # Taking a text apart costs thirty times as much as seeing whether the letters of a word occur in it at all.
    letters = "".join(
        f"position({filtered.value(word.lower())} in lower(title || ' ' || text)) > 0 and "
        for word in words
        if _is_plain(word)
    )
    rows = await connection.fetch(
        f"""
        with newest as materialized ({newest})
        select looked_at, found.* from (select count(*) as looked_at from newest) as counted left join (
            select {_COLUMNS} from newest where {letters} coalesce({_text_words("title", "text")} @@ to_tsquery('simple', {query}::text), false)
            order by at desc, post_id desc limit {most}
        ) as found on true order by at desc, post_id desc
        """,  # noqa: S608  (constants of this module)
        *filtered.values,
    )
    is_all = rows[0]["looked_at"] < _MOST_READ
    found = [dict(row) for row in rows if row["post_id"] is not None]
    for each in found:
        del each["looked_at"]
    return found, is_all


async def _newest_with(
    connection: Connection, filtered: "_Conditions", wanted: PostFilter, limit: int
) -> list[UUID]:
    """Returns the ids of the newest posts with the words, of all that the indexes of words find."""
    filtered.add(*_with_words(filtered.brand, wanted.text or ""))
    found = _newest("post_id, at", filtered, _sources(wanted, _BY_WORDS), limit)
    return [row["post_id"] for row in await connection.fetch(found, *filtered.values)]


def _newest(columns: str, filtered: "_Conditions", sources: Sequence[str], limit: int) -> str:
    """Returns the query of the newest posts. Each table gives its own newest ones, in the order of its index."""
    newest = f"order by at desc, post_id desc limit {filtered.value(limit)}"
    pages = " union all ".join(
        f"(select {columns} from ({each}) as found where {filtered.sql} {newest})"  # noqa: S608  (constants of this module)
        for each in sources
    )
    return f"select {columns} from ({pages}) as found {newest}"  # noqa: S608  (constants of this module)


async def count_posts(connection: Connection, brand: str, wanted: PostFilter) -> int:
    """Counts a brand's posts that a filter lets through, up to `most_counted`."""
    filtered, sources = _Conditions(brand, wanted), _sources(wanted)
    if wanted.text is not None:
        filtered.add(*_with_words(brand, wanted.text))
        sources = _sources(wanted, _BY_WORDS)
    found = " union all ".join(
        f"select 1 from ({each}) as found where {filtered.sql}"  # noqa: S608  (constants of this module)
        for each in sources
    )
    counted: int = await connection.fetchval(
        f"select count(*) from ({found} limit {filtered.value(most_counted(wanted))}) as counted",  # noqa: S608
        *filtered.values,
    )
    return counted


def most_counted(wanted: PostFilter) -> int:
    """The most posts of a filter that are counted."""
    return MOST_COUNTED if wanted.text is None else MOST_COUNTED_WITH_WORDS


class _Conditions:
    """Conditions of a query of one brand's posts, with the values of its parameters; the words are not among them."""

    def __init__(self, brand: str, wanted: PostFilter) -> None:
        self.brand = brand
        self.values: list[Any] = [brand]
        self._conditions = ["true"]
        if wanted.since is not None:
            self.add("at >= {}::timestamptz", wanted.since)
        if wanted.channel is not None:
            self.add("{}::text in (channel, account)", wanted.channel)
        if wanted.content_id is not None:
            self.add("content_id = {}::uuid", wanted.content_id)

    def copy(self) -> "_Conditions":
        """The same conditions, to which others are added."""
        copied = _Conditions(self.brand, PostFilter())
        copied.values, copied._conditions = list(self.values), list(self._conditions)
        return copied

    @property
    def sql(self) -> str:
        return " and ".join(self._conditions)

    def add(self, condition: str, *values: Any) -> None:
        self._conditions.append(condition.format(*map(self.value, values)))

    def value(self, value: Any) -> str:
        """The placeholder of a further value."""
        self.values.append(value)
        return f"${len(self.values)}"


def _words_of(text: str) -> list[str]:
    spaced = text.translate(str.maketrans(_JOINERS, " " * len(_JOINERS)))
    return [word for word in _APART.split(spaced) if word]


def _words_query(words: Iterable[str]) -> str:
    """Returns the search for all of these words, or words that start with them, in the syntax of `to_tsquery`."""
    return " & ".join(f"'{word}':*" for word in words)


def _is_plain(word: str) -> bool:
    """Whether PostgreSQL's text parser takes it as one word: it may cut one with digits or signs into several."""
    return word.isascii() and word.isalpha()


def _with_words(brand: str, text: str) -> tuple[str, str, str]:
    """The condition that the indexes of words serve, with its values; it is false for a text without any word."""
    return (
        "numnode(to_tsquery('simple', {0}::text)) > 0 and words @@ (to_tsquery('simple', {0}::text) && {1}::text::tsquery)",
        _words_query(_words_of(text)),
        f"'={brand}'",
    )


def _sources(wanted: PostFilter, of_brand: str = "brand_slug = $1") -> list[str]:
    """The queries of all tables that have posts in the filter's state, and on its channel."""
    state = wanted.state
    elsewhere, in_the_feed = [_ELSEWHERE], [_UNDER_REVIEW, _IN_THE_FEED]
    if state is not None:
        stored = _STORED_ELSEWHERE.get(state, f"'{state.value}'")
        elsewhere, in_the_feed = [f"{_ELSEWHERE} and state in ({stored})"], []
        if state in _STORED_UNDER_REVIEW:
            in_the_feed.append(f"{_UNDER_REVIEW} {_STORED_UNDER_REVIEW[state]}")
        if state is PostState.POSTED:
            in_the_feed.append(_IN_THE_FEED)
    sources = [*elsewhere, *in_the_feed]
    if wanted.channel is not None:
        # No post for another platform is on the feed; all of the brand's would be read to find none.
        sources = (in_the_feed or [f"{_ELSEWHERE} and false"]) if wanted.channel == FEED else elsewhere
    return [each.replace("{of_brand}", of_brand) for each in sources]


class NewestOnChannel(View):
    """How a channel did last."""

    channel: Annotated[str, Field(examples=["mastodon"])]
    """As it was asked about."""
    posted: tuple[ListedPost, ...]
    """The newest posts that went out."""
    failed: tuple[ListedPost, ...]
    """The newest posts that failed."""


class NewestOnChannels(View):
    items: tuple[NewestOnChannel, ...]
    """In the order of the request."""


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

    @routes.get("/newest-posts", summary="Newest posts of channels", responses=UNKNOWN)
    async def list_newest_posts(
        caller: MayRead,
        slug: OfBrand,
        channel: Annotated[
            list[Annotated[str, Field(min_length=1, max_length=100, pattern=WITHOUT_NUL)]],
            Query(
                description="A channel or account; once for each.", min_length=1, max_length=_MOST_CHANNELS
            ),
        ],
    ) -> NewestOnChannels:
        """The newest posts of each of these channels that went out and that failed, ten of each at most."""
        caller.check_visible(slug)

        async def newest(connection: Connection, name: str, state: PostState) -> tuple[ListedPost, ...]:
            wanted = PostFilter(state, channel=name)
            found = await search_posts(connection, slug, wanted, after=None, limit=_NEWEST_ON_A_CHANNEL)
            return tuple(map(ListedPost.model_validate, found))

        async with database.connection() as connection:
            return NewestOnChannels(
                items=tuple(
                    [
                        NewestOnChannel(
                            channel=each,
                            posted=await newest(connection, each, PostState.POSTED),
                            failed=await newest(connection, each, PostState.FAILED),
                        )
                        for each in channel
                    ]
                )
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
        """The number of posts that the same filters list; at most 10,000 are counted, and with words 1,000."""
        caller.check_visible(slug)
        wanted = PostFilter(state, q, since, channel, article)
        async with database.connection() as connection:
            counted = await count_posts(connection, slug, wanted)
        return PostCount(count=counted, is_exact=counted < most_counted(wanted))

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
