"""Searching articles over all cycles: matches, rights of callers, and the number of rows read for a page."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from starlette.requests import Request

from chassis.http.callers import Caller, Scope
from chassis.testing import serving
from envelope import new_event_id
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.api import http_api
from orchestrator.article_workflow.article_search import ArticleState, FoundArticle, search_articles
from orchestrator.brands import upsert_brand
from tests.fixtures.explained import ExplainedConnection

MANY = 100_000
FILL = """
insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown, word_count, key_points, sources)
select lpad(to_hex(n), 32, '0')::uuid, case when n % 1000 = 0 then 'small' else 'large' end, 'coffee number ' || n, gen_random_uuid(), 'a-' || n,
    'About coffee ' || n || case when n % 20000 = 7 then ' with a needle' else '' end, '', '', 1, '{}', '[]'
from generate_series(1, $1::int) as n
"""


async def add_brand(database: Database, slug: str) -> None:
    async with database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            slug,
            BrandSettings(name=slug, channels=()),
        )


async def store(
    database: Database, title: str, *, keyword: str = "tea", brand: str = "acme", **more: Any
) -> UUID:
    content_id = new_event_id()
    columns = {"held_for": [], "decision": None, "published_url": None, "taken_down_at": None, **more}
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown, word_count,
                key_points, sources, held_for, decision, published_url, taken_down_at)
            values ($1, $2, $3, $1, $1::uuid::text, $4, '', 'the text', 2, '{}', '[]', $5, $6, $7, case when $8 then now() end)
            """,
            content_id,
            brand,
            keyword,
            title,
            columns["held_for"],
            columns["decision"],
            columns["published_url"],
            columns["taken_down_at"] is not None,
        )
    return content_id


@pytest.fixture
async def brands(orchestrator_database: Database) -> Database:
    for slug in ("acme", "other"):
        await add_brand(orchestrator_database, slug)
    return orchestrator_database


async def titles(api: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await api.get("/v1/articles", params=query)
    assert answer.status_code == 200, answer.text
    return [each["title"] for each in answer.json()["items"]]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cold", ["Cold brew at home", "Cold drip"]),
        ("COLD br", ["Cold brew at home"]),
        ("brew cold", ["Cold brew at home"]),
        ("rold", []),
        ("node", ["Node.js and pour-over"]),
        ("js", ["Node.js and pour-over"]),
        ("node.js", ["Node.js and pour-over"]),
        ("over", ["Node.js and pour-over"]),
        ("barista's", ["The barista's café"]),
        ("café", ["The barista's café"]),
        ("हिन्दी", ["हिन्दी में"]),
        ("v60", ["Cold drip"]),
        ("acme", []),
        ("=acme", []),
        ("text", []),
        ("'", []),
        ("!!! ???", []),
        ("cold & !drip | (", ["Cold drip"]),
        ("\\", []),
        ("\N{COMBINING ACUTE ACCENT}", []),
    ],
)
async def test_articles_are_found_by_the_words_of_title_and_keyword(
    brands: Database, api: httpx.AsyncClient, text: str, expected: list[str]
) -> None:
    await store(brands, "हिन्दी में")
    await store(brands, "The barista's café")
    await store(brands, "Node.js and pour-over")
    await store(brands, "Cold drip", keyword="V60")
    await store(brands, "Cold brew at home")
    await store(brands, "Cold brew elsewhere", brand="other")

    assert await titles(api, brand="acme", q=text) == expected


async def test_articles_of_all_cycles_are_listed_page_by_page_with_how_they_stand(
    brands: Database, api: httpx.AsyncClient
) -> None:
    url = "https://site.test/1"
    await store(brands, "published", published_url=url)
    await store(brands, "waiting", held_for=["look"])
    await store(brands, "rejected", held_for=["look"], decision="rejected")
    await store(brands, "publishing")
    await store(brands, "down", published_url=url, held_for=["no"], decision="taken_down", taken_down_at=True)
    latest = await store(brands, "elsewhere", brand="other", published_url=url)

    answer = (await api.get("/v1/articles")).json()
    assert [(each["title"], each["state"]) for each in answer["items"]] == [
        ("elsewhere", "published"),
        ("down", "taken_down"),
        ("publishing", "publishing"),
        ("rejected", "rejected"),
        ("waiting", "waiting"),
        ("published", "published"),
    ]
    assert answer["items"][0]["content_id"] == str(latest)
    assert "body_markdown" not in answer["items"][0]
    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in range(3):
        page = (await api.get("/v1/articles", params={"limit": 2, **after})).json()
        seen += [each["title"] for each in page["items"]]
        after = {"after": page["next"]}
    assert (seen, page["next"]) == ([each["title"] for each in answer["items"]], None)
    assert await titles(api, brand="nobody") == []
    for wrong in ({"limit": 201}, {"q": ""}, {"q": "a\0"}, {"brand": "A b"}, {"after": "x"}, {"search": "x"}):
        assert (await api.get("/v1/articles", params=wrong)).status_code == 422, wrong


@pytest.fixture
async def bound(brands: Database) -> AsyncIterator[Any]:
    """The API for a caller who may see so many brands."""
    callers: list[Caller] = []

    async def authenticate(request: Request) -> Caller:
        return callers[-1]

    async with (
        serving(http_api(brands, authenticate)) as origin,
        httpx.AsyncClient(base_url=origin) as client,
    ):

        def of(*slugs: str) -> httpx.AsyncClient:
            callers.append(Caller("theirs", frozenset(Scope), frozenset(slugs)))
            return client

        yield of


async def test_a_caller_finds_articles_of_their_brands_alone(brands: Database, bound: Any) -> None:
    await add_brand(brands, "third")
    for slug in ("acme", "other", "third"):
        await store(brands, f"Tea of {slug}", brand=slug)
    assert await titles(bound("acme"), q="tea") == ["Tea of acme"]
    assert await titles(bound("acme", "third"), q="tea") == ["Tea of third", "Tea of acme"]
    assert await titles(bound("acme", "third"), limit=1) == ["Tea of third"]
    assert (await bound("acme").get("/v1/articles", params={"brand": "other"})).status_code == 404


@pytest.fixture
async def many(orchestrator_database: Database, postgres_url: str) -> Database:
    for slug in ("large", "small", "none"):
        await add_brand(orchestrator_database, slug)
    async with orchestrator_database.connection() as connection:
        name = await connection.fetchval("select current_database()")
    owner = await asyncpg.connect(postgres_url, database=name)
    # First versions have no part in this.
    await owner.execute("alter table content disable trigger first_version")
    await owner.execute(FILL, MANY)
    await owner.execute("vacuum analyze content")
    await owner.close()
    return orchestrator_database


@pytest.mark.extended
async def test_no_page_of_a_hundred_thousand_articles_reads_more_than_it_needs(many: Database) -> None:
    async def read(
        *brands: str, text: str | None = None, after: UUID | None = None
    ) -> tuple[list[FoundArticle], int]:
        async with many.connection() as connection:
            await connection.execute("set enable_seqscan = off")
            explained: Any = ExplainedConnection(connection)
            found = await search_articles(explained, brands=brands or None, text=text, after=after, limit=50)
            return found, explained.rows_read

    last = UUID(int=MANY // 2)
    # The latest of all, or of a brand: the rows of the page, and at most the one of the small brand that stands among so many.
    for brands, count in (((), 50), (("large",), 50), (("small",), 50), (("none",), 0)):
        found, rows = await read(*brands)
        assert (len(found), rows <= count + 1) == (count, True)
        assert found == sorted(found, key=lambda each: each.content_id, reverse=True)
        found, rows = await read(*brands, after=last)
        assert (len(found), rows <= count + 1) == (min(count, 49 if brands == ("small",) else 50), True)
        assert all(each.content_id < last for each in found)
    # Of several brands: a page of each at most.
    found, rows = await read("large", "small")
    assert (len(found), rows <= 101) == (50, True)
    # A rare word: the rows that have it, to find the page, and those of the page.
    for brands, text, matches in (
        ((), "needle", 5),
        (("large",), "needle", 5),
        (("small",), "needle", 0),
        (("large",), "needl coff", 5),
        (("none",), "coffee", 0),
        ((), "nowhere", 0),
        ((), "!!!", 0),
    ):
        found, rows = await read(*brands, text=text)
        assert (len(found), rows) == (matches, 2 * matches), (brands, text)
    # A word that all have: enough rows to see that, and those of the page; in a small brand, no row of another one.
    for brands, count, most in (((), 50, 2_051), (("large",), 50, 2_052), (("small",), 49, 149)):
        found, rows = await read(*brands, text="coffee", after=last)
        assert (len(found), rows <= most) == (count, True), (brands, rows)


@pytest.mark.extended
async def test_no_page_of_a_rare_state_reads_the_others(many: Database, postgres_url: str) -> None:
    rare = {
        ArticleState.WAITING: "held_for = array['231 words']",
        ArticleState.REJECTED: "held_for = array['231 words'], decision = 'rejected'",
        ArticleState.TAKEN_DOWN: "taken_down_at = now()",
    }
    async with many.connection() as connection:
        await connection.execute("update content set published_url = 'http://127.0.0.1/' || slug")
        for number, change in enumerate(rare.values()):
            await connection.execute(
                f"update content set published_url = null, {change} where slug in ('a-1{number}', 'a-9{number}001')"
            )
        await connection.execute("update content set published_url = null where slug in ('a-19', 'a-99001')")
        name = await connection.fetchval("select current_database()")
        owner = await asyncpg.connect(postgres_url, database=name)
        await owner.execute("vacuum analyze content")
        await owner.close()
        await connection.execute("set enable_seqscan = off")
        for state in (*rare, ArticleState.PUBLISHING):
            explained: Any = ExplainedConnection(connection)
            found = await search_articles(
                explained, brands=["large"], text=None, after=None, limit=50, state=state
            )
            assert ([each.state for each in found], explained.rows_read) == ([state, state], 2), state
        # With a word that few have: the rows that have it, to find them, and at most once more to look at their state.
        with_word: Any = ExplainedConnection(connection)
        found = await search_articles(
            with_word, brands=None, text="needle", after=None, limit=50, state=ArticleState.REJECTED
        )
        assert (found, with_word.rows_read <= 10) == ([], True), with_word.scans


@pytest.mark.extended
async def test_the_articles_of_the_last_days_are_found_without_a_look_at_the_others(
    many: Database, postgres_url: str
) -> None:
    async with many.connection() as connection:
        await connection.execute(
            "update content set created_at = case when slug in ('a-17', 'a-99') then now() else now() - interval '9 days' end"
        )
        owner = await asyncpg.connect(
            postgres_url, database=await connection.fetchval("select current_database()")
        )
        await owner.execute("vacuum analyze content")
        await owner.close()
        await connection.execute("set enable_seqscan = off")
        since = datetime.now(UTC) - timedelta(days=1)

        async def read(**filters: Any) -> tuple[list[FoundArticle], int]:
            explained: Any = ExplainedConnection(connection)
            wanted = {
                "brands": ["large"],
                "text": None,
                "after": None,
                "limit": 50,
                "since": since,
                **filters,
            }
            return await search_articles(explained, **wanted), explained.rows_read

        found, rows = await read()
        assert ([each.content_id for each in found], rows <= 4) == (
            sorted((e.content_id for e in found), reverse=True),
            True,
        )
        assert len(found) == 2
        none, rows = await read(state=ArticleState.REJECTED)
        assert (none, rows <= 4) == ([], True)
        older, rows = await read(after=found[0].content_id)
        assert (older, rows <= 4) == (found[1:], True)
        # Far more than are sorted: a page of them, in their order.
        all_of_them, rows = await read(since=since - timedelta(days=30))
        assert (len(all_of_them), rows <= 2_100) == (50, True)
        assert all_of_them == sorted(all_of_them, key=lambda each: each.content_id, reverse=True)


@pytest.mark.extended
@pytest.mark.parametrize("text", [{}, {"q": "tea"}])
async def test_articles_are_found_by_state_and_age_with_and_without_words(
    brands: Database, api: httpx.AsyncClient, text: dict[str, str]
) -> None:
    await store(brands, "Tea, published", published_url="http://127.0.0.1/tea")
    await store(brands, "Tea, on its way")
    await store(brands, "Tea, waiting", held_for=["a person reads it first"])
    await store(brands, "Tea, taken down", published_url="http://127.0.0.1/down", taken_down_at="now")
    of = {"brand": "acme", **text}
    assert await titles(api, **of, state="published") == ["Tea, published"]
    assert await titles(api, **of, state="waiting") == ["Tea, waiting"]
    assert await titles(api, **of, state="taken_down") == ["Tea, taken down"]
    assert await titles(api, **of, state="publishing", since="2020-01-01T00:00:00Z") == ["Tea, on its way"]
    assert await titles(api, **of, since="2090-01-01T00:00:00Z") == []
