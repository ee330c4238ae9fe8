"""Lists of drafts: their filters run in the database, before pages are cut."""

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.brands import upsert_brand
from orchestrator.review import store
from orchestrator.review.domain import DraftFilter
from review.rules import DraftState
from tests.fixtures.explained import ExplainedConnection
from writing import Article
from writing.quality.measures import Measure

TITLES = ("Cold brew at home", "Kettles and heat", "Cold storage")


def article(title: str) -> Article:
    return Article(
        title=title,
        slug=title.lower().replace(" ", "-"),
        meta_description="About it.",
        body_markdown=f"{title} is a subject. [1]",
        word_count=6,
        key_points=(),
        cited=(1,),
    )


@pytest.fixture
async def drafts(make_waiting: Any) -> list[Any]:
    return [await make_waiting(title.casefold(), article=article(title)) for title in TITLES]


async def listed(draft: Any, **query: Any) -> list[str]:
    found = await draft.api.get("/v1/drafts", params={"brand": "acme", **query})
    assert found.status_code == 200, found.text
    counted = (await draft.api.get("/v1/draft-counts", params={"brand": "acme", **query})).json()
    if "limit" not in query and "after" not in query:
        assert counted == {"count": len(found.json()["items"]), "is_exact": True}
    return [each["title"] for each in found.json()["items"]]


async def test_a_list_is_filtered_by_state_text_author_and_age(drafts: list[Any]) -> None:
    first, second, _ = drafts
    await first.decide("edit", version=1, title="Cold brew, slowly")
    await second.decide("reject", version=1, reason="Not ours.")

    assert await listed(first) == ["Cold brew, slowly", "Cold storage"]
    assert await listed(first, state="rejected") == ["Kettles and heat"]
    assert await listed(first, q="col stor") == ["Cold storage"]
    assert await listed(first, q="...") == []
    assert await listed(first, author="person") == ["Cold brew, slowly"]
    assert await listed(first, author="digest") == ["Cold storage"]
    assert await listed(first, author="model") == []
    later = datetime.now(UTC) + timedelta(hours=1)
    assert len(await listed(first, since_before=later.isoformat())) == 2
    assert await listed(first, since_before=(later - timedelta(days=1)).isoformat()) == []


async def test_a_filter_finds_the_row_of_the_last_page(drafts: list[Any]) -> None:
    assert await listed(drafts[0], q="storage", limit=1) == ["Cold storage"]


async def test_a_models_draft_is_known_by_its_measures(drafts: list[Any]) -> None:
    dropped = Measure(name="dropped", value=0, shown="0", least=None, most=None, problem=None)
    async with drafts[0].database.connection() as connection:
        await connection.execute(
            "update content_versions set measures = jsonb_build_array(jsonb_build_object('name', $2::text)) where content_id = $1",
            drafts[0].content_id,
            dropped.name,
        )

    assert await listed(drafts[0], author="model") == ["Cold brew at home"]
    assert await listed(drafts[0], author="digest") == ["Kettles and heat", "Cold storage"]


async def test_a_draft_names_the_open_ones_before_and_after_it(drafts: list[Any]) -> None:
    async def neighbours(draft: Any) -> list[str | None]:
        found = (await draft.api.get(f"/v1/drafts/{draft.content_id}")).json()
        return [found["before"], found["following"]]

    first, second, third = sorted(drafts, key=lambda draft: draft.content_id)
    ids = [str(each.content_id) for each in (first, second, third)]
    assert await neighbours(first) == [None, ids[1]]
    assert await neighbours(second) == [ids[0], ids[2]]
    await second.decide("reject", version=1, reason="Not ours.")
    # It has left the list, and still stands where it stood.
    assert await neighbours(second) == [ids[0], ids[2]]
    assert await neighbours(first) == [None, ids[2]]
    assert await neighbours(third) == [ids[0], None]


@pytest.mark.extended
@pytest.mark.parametrize("state", [None, DraftState.WAITING])
async def test_a_brands_drafts_are_read_without_its_other_articles(
    orchestrator_database: Database, postgres_url: str, state: DraftState | None
) -> None:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(tx.connection, "acme", BrandSettings(name="acme", channels=()))
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown,
                word_count, key_points, sources, held_for)
            select lpad(to_hex(n), 32, '0')::uuid, 'acme', 'tea ' || n, gen_random_uuid(), 'a-' || n, 'Tea ' || n, '', '', 1,
                '{}', '[]', case when n % 1000 = 0 then array['a person reads it first'] else '{}' end
            from generate_series(1, 5000) as n
            """
        )
        name = await connection.fetchval("select current_database()")
        owner = await asyncpg.connect(postgres_url, database=name)
        await owner.execute("vacuum analyze")
        await owner.close()
        await connection.execute("set enable_seqscan = off")
        wanted = DraftFilter(["acme"], state, None, None, None)
        listing: Any = ExplainedConnection(connection)
        found = await store.drafts(listing, wanted, after=None, limit=3)
        counting: Any = ExplainedConnection(connection)
        counted = await store.count_matches(counting, wanted)
        beside: Any = ExplainedConnection(connection)
        neighbours = await store.find_neighbours(beside, "acme", found[1].content_id)
    assert ([each.title for each in found], counted) == (["Tea 1000", "Tea 2000", "Tea 3000"], 5)
    assert neighbours == (found[0].content_id, found[2].content_id)
    # A page: each draft to find it, itself and its newest version.
    assert (listing.rows_read <= 12, counting.rows_read <= 5, beside.rows_read <= 2) == (True, True, True)
