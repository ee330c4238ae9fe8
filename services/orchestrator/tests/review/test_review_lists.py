"""Lists of drafts: their filters run in the database, before pages are cut."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

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
