"""Many posts of many brands: which are found by their words, and how little is read for a page, a count and the activity of all brands."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from review.rules import PostState
from social import store
from social.activity import activity
from social.calendar.entries import days
from social.domain import BrandSlug
from social.post_metrics.store import fetch_posts
from social.post_search import MOST_COUNTED, MOST_COUNTED_WITH_WORDS, PostFilter, count_posts, search_posts
from social.rendering import FeedRenderer
from social.urls import FeedUrls
from tests.fixtures.explained import ExplainedConnection

MANY = 30_000
NEWEST = 300
"""Posts that are read to find words in."""
_FILL = """
insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state, since, posted_at)
select gen_random_uuid(), case when n % 100 = 0 then 'small-' || n % 1000 else 'large' end, gen_random_uuid(), 'mastodon', 'mastodon',
       jsonb_build_object('title', 'About coffee ' || n), 'mastodon', 'mastodon-eu',
       'Post number ' || n || case when n % 10000 = 7 then ' with a needle' else '' end || case when n > $1::int * 2 / 3 then ' of long ago' else '' end,
       case when n % 10 = 3 then 'failed' when n % 10 = 4 then 'in_doubt' else 'posted' end, now() - n * interval '1 hour',
       case when n % 10 not in (3, 4) then now() - n * interval '1 hour' end
from generate_series(1, $1::int) as n
"""
_FEED = """
insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, drafts)
select gen_random_uuid(), 'acme', gen_random_uuid(), 'feed', title, text, '[]', '[]' from unnest($1::text[], $2::text[]) as t (title, text)
"""


async def found(social_database: asyncpg.Connection, text: str, brand: str = "acme") -> list[str]:
    connection: Any = social_database
    wanted = PostFilter(text=text)
    posts = await search_posts(connection, brand, wanted, after=None, limit=50)
    assert await count_posts(connection, brand, wanted) == len(posts)
    return sorted(each["text"] for each in posts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cold", ["Cold brew at home #ColdBrew", "Cold drip"]),
        ("COLD br", ["Cold brew at home #ColdBrew"]),
        ("café BARISTA", ["The barista's café"]),
        ("at,home", ["Cold brew at home #ColdBrew"]),
        ("drip.cold", ["Cold drip"]),
        ("brew cold", ["Cold brew at home #ColdBrew"]),
        ("#coldb", ["Cold brew at home #ColdBrew"]),
        ("site.test/tea", ["Read https://site.test/tea-time now"]),
        ("time", ["Read https://site.test/tea-time now"]),
        ("barista's", ["The barista's café"]),
        ("title", ["Cold drip"]),
        ("rold", []),
        ("acme", []),
        ("=acme", []),
        ("'", []),
        ("!!! ???", []),
        ("cold & !drip | (", ["Cold drip"]),
        ("\\", []),
    ],
)
async def test_posts_are_found_by_the_words_of_text_and_title(
    social_database: asyncpg.Connection, text: str, expected: list[str]
) -> None:
    texts = [
        "Cold brew at home #ColdBrew",
        "The barista's café",
        "Read https://site.test/tea-time now",
        "Cold drip",
    ]
    await social_database.execute("insert into accounts values ('acme', 'feed', 'Feed')")
    await social_database.execute(_FEED, ["About it"] * 3 + ["A title"], texts)
    assert await found(social_database, text) == expected
    assert await found(social_database, text, "other") == []


@pytest.fixture
async def many(social_database: asyncpg.Connection, postgres_url: str) -> asyncpg.Connection:
    await social_database.execute(_FILL, MANY)
    owner = await asyncpg.connect(
        postgres_url, database=await social_database.fetchval("select current_database()")
    )
    await owner.execute("vacuum analyze channel_posts")
    await owner.close()
    await social_database.execute("set enable_seqscan = off")
    return social_database


@pytest.mark.extended
async def test_no_page_or_count_of_many_posts_reads_more_than_it_needs(many: asyncpg.Connection) -> None:
    async def read(brand: str, **filters: Any) -> tuple[int, int]:
        explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
        return len(
            await search_posts(explained, brand, PostFilter(**filters), after=None, limit=50)
        ), explained.rows_read

    async def counted(brand: str, **filters: Any) -> tuple[int, int]:
        explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
        return await count_posts(explained, brand, PostFilter(**filters)), explained.rows_read

    # A rare word: the newest posts, those that have it, and again for the page.
    assert await read("large", text="needle") == (3, NEWEST + 6)
    assert await read("large", text="nowhere") == (0, NEWEST)
    assert await counted("large", text="needle") == (3, 3)
    assert await counted("large", text="nowhere") == (0, 0)
    # A brand with few posts: no more than all of them.
    matches, rows = await read("small-0", text="needle")
    assert (matches, rows <= MANY // 1_000) == (0, True), rows
    # A word that all have: the newest posts.
    assert await read("large", text="coffee") == (50, NEWEST)
    assert await read("large", text="coffee", state=PostState.FAILED) == (50, NEWEST)
    # A word that only old posts have: not all that are newer.
    matches, rows = await read("large", text="ago")
    assert (matches, rows <= NEWEST + MANY // 3 + 50) == (50, True), rows
    # Any post.
    assert await read("large") == (50, 50)
    assert await counted("large", text="coffee") == (MOST_COUNTED_WITH_WORDS, MOST_COUNTED_WITH_WORDS)
    for brand, count in (("large", MOST_COUNTED), ("small-0", MANY // 1_000)):
        matches, rows = await counted(brand)
        assert (matches, rows <= count) == (count, True), rows


@pytest.mark.extended
async def test_the_pages_of_a_word_are_those_of_all_posts_with_it_in_their_order(
    many: asyncpg.Connection,
) -> None:
    connection: Any = many
    in_order = await many.fetch(
        "select post_id from channel_posts where brand_slug = 'large' and text like '%ago' order by since desc, post_id desc limit 150"
    )
    seen: list[Any] = []
    after = None
    for _ in range(3):
        page = await search_posts(connection, "large", PostFilter(text="long ago"), after=after, limit=50)
        seen += [each["post_id"] for each in page]
        after = page[-1]["at"], page[-1]["post_id"]
    assert seen == [row["post_id"] for row in in_order]


@pytest.mark.extended
async def test_the_page_of_metrics_reads_the_posts_that_have_some(many: asyncpg.Connection) -> None:
    explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
    assert await fetch_posts(explained, "large", (), before=None, limit=50) == []
    assert explained.rows_read == 0
    await many.execute(
        """
        with measured as (
            update channel_posts set has_metrics = true
            where post_id in (select post_id from channel_posts where brand_slug = 'large' and state = 'posted' order by number limit 70)
            returning post_id)
        insert into reach (post_id, day, likes) select post_id, current_date, 1 from measured
        """
    )
    explained.rows_read = 0
    pages = [await fetch_posts(explained, "large", (), before=None, limit=50)]
    pages.append(await fetch_posts(explained, "large", (), before=pages[0][-1].number, limit=50))
    assert [len(page) for page in pages] == [50, 20]
    assert explained.rows_read <= 2 * 70 + 10, explained.rows_read


@pytest.mark.extended
@pytest.mark.parametrize(("channel", "count"), [("mastodon", 10), ("mastodon-eu", 10), ("feed", 0), ("x", 0)])
async def test_posts_of_a_channel_are_found_where_it_has_some(
    many: asyncpg.Connection, channel: str, count: int
) -> None:
    explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
    wanted = PostFilter(state=PostState.POSTED, channel=channel)
    found_posts = await search_posts(explained, "large", wanted, after=None, limit=10)
    assert len(found_posts) == count
    assert channel == "x" or explained.rows_read <= 20, explained.rows_read


@pytest.mark.extended
async def test_a_month_of_many_posts_reads_its_days_alone(many: asyncpg.Connection) -> None:
    explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
    # Days that are over: of today there may be few hours yet.
    today = datetime.now(UTC).date()
    wanted = [today - timedelta(days=number) for number in range(42, 0, -1)]
    shown = await days(explained, "large", wanted, ZoneInfo("UTC"), limit=5)
    assert [len(each.entries) for each in shown] == [5] * 42
    # Failed and in doubt ones have no time here; what is posted is one an hour, without every hundredth.
    assert {each.count for each in shown[1:-1]} <= set(range(17, 21)), [each.count for each in shown]
    assert explained.rows_read <= 42 * (24 + 10), explained.rows_read


@pytest.mark.extended
async def test_the_activity_of_all_brands_reads_no_posts_of_before(many: asyncpg.Connection) -> None:
    explained: Any = ExplainedConnection(many)  # type: ignore[arg-type]
    since = datetime.now(UTC) - timedelta(hours=101, minutes=30)
    told = await activity(explained, slugs=None, after="", limit=100, since=since)
    assert [each["brand_slug"] for each in told] == ["large", *(f"small-{n}" for n in range(0, 1_000, 100))]
    (large,) = told[0]["channels"]
    assert (large["posted"], large["failed"], large["in_doubt"]) == (80, 10, MANY // 10)
    assert [each["posted"] for each in told[2]["channels"]] == [1]
    # What is open or failed is read, whenever that was; of what is out, the last days alone.
    assert explained.rows_read <= 2 * MANY // 10 + 2 * 101, explained.rows_read

    one: Any = many
    assert await activity(one, slugs=["large"], after="", limit=100, since=since) == told[:1]
    assert await activity(one, slugs=["none", "small-0"], after="large", limit=100, since=since) == told[1:2]
    assert [
        each["brand_slug"] for each in await activity(one, slugs=None, after="large", limit=2, since=since)
    ] == ["small-0", "small-100"]
    assert await activity(one, slugs=None, after="small-900", limit=2, since=since) == []


@pytest.mark.extended
async def test_a_page_of_a_long_feed_reads_its_own_posts_alone(social_database: asyncpg.Connection) -> None:
    await social_database.execute(
        "insert into accounts (brand_slug, channel, display_name) values ('acme', 'feed', 'Acme'), ('new', 'feed', 'New')"
    )
    await social_database.execute(
        """
        insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, drafts, posted_at)
        select lpad(to_hex(n), 32, '0')::uuid, 'acme', gen_random_uuid(), 'feed', 'Post ' || n, '', '[]', '[]', now() + n / 2 * interval '1 s'
        from generate_series(1, 5000) as n
        """
    )
    await social_database.execute("analyze posts")
    await social_database.execute(
        "set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off"
    )
    explained: Any = ExplainedConnection(social_database)  # type: ignore[arg-type]
    acme = BrandSlug("acme")
    feed = await store.feed(explained, acme)
    assert feed is not None
    assert await store.feed(explained, BrandSlug("new")) is None
    assert [each.name for each in await store.feeds(explained, 10)] == ["Acme"]
    first = await store.newest(explained, acme, 10)
    assert first[0].posted_at == feed.changed_at
    # In the middle of two of the same second.
    later = await store.newest(explained, acme, 10, before=UUID(int=2_501))
    assert [each.post.title for each in (*first[:2], *later[:2])] == [
        "Post 5000",
        "Post 4999",
        "Post 2500",
        "Post 2499",
    ]
    assert await store.newest(explained, acme, 10, before=UUID(int=9_999)) == []
    assert await store.count(explained, acme) == store.MOST_COUNTED + 1
    assert explained.rows_read <= 40
    urls = FeedUrls.under("https://social.example")
    page = FeedRenderer(urls).feed(feed, first, store.MOST_COUNTED + 1, is_first=True, has_more=True)
    assert "More than 1,000 posts so far." in page
