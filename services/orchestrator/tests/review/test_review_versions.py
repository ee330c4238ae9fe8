"""Versions of an article, and the differences between two of them."""

from uuid import UUID

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.database import migrations
from envelope import new_event_id
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.article_workflow.versions import insert_version, newest_version
from orchestrator.brands import upsert_brand
from orchestrator.review.differences import MAX_CHARACTERS, difference
from writing import Article, ArticleSource

ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
)
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")


async def store_article(database: Database, *, held_for: tuple[str, ...] = ()) -> UUID:
    content_id = new_event_id()
    async with database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "acme",
            BrandSettings(name="Acme"),
        )
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="acme",
            keyword="cold brew",
            research_id=UUID(int=5),
            article=ARTICLE,
            sources=[SOURCE],
            held_for=held_for,
        )
    return content_id


async def add_version(database: Database, content_id: UUID, body: str) -> None:
    async with database.transaction() as tx:
        await tx.connection.execute("select from content where content_id = $1 for update", content_id)
        newest = await newest_version(tx.connection, content_id)
        assert newest is not None
        changed = {
            "slug": "steeping",
            "title": "Steeping",
            "meta_description": "",
            "body_markdown": body,
            "word_count": 3,
        }
        text = newest.text.model_copy(update={**changed, "key_points": (), "label": None, "measures": ()})
        await insert_version(tx.connection, content_id, text, made_by="ann", why="shorter")


async def test_the_writers_version_is_the_first(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    content_id = await store_article(orchestrator_database)
    versions = (await api.get(f"/v1/content/{content_id}/versions")).json()
    first = (await api.get(f"/v1/content/{content_id}/versions/1")).json()

    assert (versions["next"], versions["stands"], len(versions["items"])) == (None, 1, 1)
    assert versions["items"][0].items() <= first.items()
    assert (first["made_by"], first["why"]) == ("writer", "written from research")
    assert (first["slug"], first["title"], first["body_markdown"]) == (
        "cold-brew",
        "Cold brew",
        ARTICLE.body_markdown,
    )
    assert first["sources"][0]["path"] == "steeping.md"


async def test_a_drafts_version_asks_for_the_address_that_it_wants(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    content_id = await store_article(orchestrator_database, held_for=("231 words",))
    assert (await api.get(f"/v1/content/{content_id}/versions/1")).json()["slug"] == "cold-brew"


async def test_versions_come_page_by_page_and_can_be_compared(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    content_id = await store_article(orchestrator_database)
    await add_version(orchestrator_database, content_id, "## Time\n\nEight hours are enough. [1]")
    await add_version(orchestrator_database, content_id, "Eight hours are enough. [1]")
    path = f"/v1/content/{content_id}"

    page = (await api.get(f"{path}/versions", params={"limit": 2})).json()
    rest = (await api.get(f"{path}/versions", params={"limit": 2, "after": page["next"]})).json()
    compared = (await api.get(f"{path}/diff", params={"from": 1, "to": 2})).json()
    same = (await api.get(f"{path}/diff", params={"from": 3, "to": 3})).json()

    assert [each["version"] for each in page["items"] + rest["items"]] == [1, 2, 3]
    assert (page["next"], rest["next"], rest["stands"]) == (2, None, 1)
    lines = compared["diff"].splitlines()
    assert lines[:2] == ["--- version 1", "+++ version 2"]
    assert {"-Title: Cold brew", "+Title: Steeping", "-Twelve hours are enough. [1]"} <= set(lines)
    assert " ## Time" in lines
    assert (same["diff"], same["is_cut"]) == ("", False)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("known", "path"),
    [
        (False, "versions"),
        (False, "versions/1"),
        (False, "diff?from=1&to=1"),
        (True, "versions/9"),
        (True, "diff?from=1&to=9"),
    ],
)
async def test_what_is_not_there_is_said_to_be_missing(
    api: httpx.AsyncClient, orchestrator_database: Database, *, known: bool, path: str
) -> None:
    content_id = await store_article(orchestrator_database) if known else UUID(int=9)
    response = await api.get(f"/v1/content/{content_id}/{path}")
    assert response.status_code == 404
    assert "there is no" in response.json()["detail"]


async def test_what_was_written_before_versions_were_kept_gets_its_first(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    content_id = await store_article(orchestrator_database)
    path = f"/v1/content/{content_id}/versions/1"
    by_the_trigger = (await api.get(path)).json()
    filling = (migrations.of_service("orchestrator") / "0009_first_versions.sql").read_text()
    async with orchestrator_database.connection() as connection:
        await connection.execute("delete from content_versions")
        for _ in range(2):
            await connection.execute(filling)

    assert (await api.get(path)).json() == by_the_trigger


@given(st.lists(st.text(max_size=20), max_size=12), st.lists(st.text(max_size=20), max_size=12))
def test_a_difference_is_empty_exactly_if_nothing_differs(before: list[str], after: list[str]) -> None:
    one, other = "\n".join(before), "\n".join(after)
    found = difference(one, other, called=("a", "b"))
    assert (found.text == "") == (one.splitlines() == other.splitlines())
    assert not found.is_cut


def test_a_difference_is_bounded() -> None:
    one = "\n".join(f"{number} {'x' * 500}" for number in range(3000))
    found = difference(one, one.replace("x", "y"), called=("a", "b"))
    assert found.is_cut
    assert len(found.text) <= MAX_CHARACTERS
