"""A folder belongs to one brand, and only an administrator gives a brand another than its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller, Scope
from messaging import Database
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.targets import publications
from publisher.targets.filing import folders
from publisher.targets.settings import TargetSettings
from publisher.urls import SiteUrls

ORIGIN = "https://blog.example.org"
ADDRESS = "https://acme.example/blog/{slug}/"
MIGRATIONS = Path(__file__).parents[2] / "migrations"


@dataclass
class Api:
    client: httpx.AsyncClient
    caller: Caller = SERVICE

    async def put(self, brand: str, folder: str | None, *, target: str = "files") -> httpx.Response:
        settings = {} if folder is None else {"folder": folder}
        return await self.client.put(f"/v1/brands/{brand}/targets/{target}", json=settings)


@pytest.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    async def authorise(_: Request) -> Caller:
        return made.caller

    urls = SiteUrls.under(ORIGIN)
    app = create_api(database, authorise, urls, sites=create_app(database, urls, articles_per_page=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        made = Api(client)
        yield made


BOUND = replace(SERVICE, brands=frozenset({"a"}))


@pytest.mark.extended
@pytest.mark.parametrize("folder", ["b", "B", "b/posts", "sites/a", "aa"])
@pytest.mark.parametrize(
    "caller", [BOUND, replace(SERVICE, scopes=frozenset({Scope.OPERATE}))], ids=["bound", "operator"]
)
async def test_who_is_no_administrator_names_no_folder_of_others(
    api: Api, caller: Caller, folder: str
) -> None:
    api.caller = caller
    refused = await api.put("a", folder)
    assert (refused.status_code, f"'{folder}'" in refused.json()["detail"]) == (403, True)
    api.caller = SERVICE
    assert (await api.client.get("/v1/brands/a/targets")).json() == {"items": []}


async def test_a_brand_names_its_own_folder_those_below_it_and_those_it_was_given(api: Api) -> None:
    assert (await api.put("a", "sites/blog")).status_code == 200
    api.caller = BOUND
    for folder in ("sites/blog", "sites/blog/posts", "a", "a/posts", "A/Posts", None):
        assert (await api.put("a", folder)).status_code == 200, folder


@pytest.mark.extended
@pytest.mark.parametrize("folder", ["sites/blog", "Sites/Blog", "sites/blog/posts", "sites"])
async def test_no_two_brands_have_folders_that_overlap(api: Api, folder: str) -> None:
    assert (await api.put("a", "sites/blog")).status_code == 200
    refused = await api.put("b", folder)
    assert (refused.status_code, "another brand" in refused.json()["detail"]) == (409, True)
    # Given up, it is free.
    assert (await api.put("a", "sites/other")).status_code == 200
    assert (await api.put("b", "sites/blog")).status_code == 200


async def test_two_at_a_time_do_not_both_get_a_folder(api: Api, database: Database) -> None:
    answers = await asyncio.gather(
        *(api.put(brand, f"sites{below}") for brand, below in (("a", ""), ("b", "/x"), ("c", "/x/y")))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    async with database.connection() as connection:
        assert len(await connection.fetch("select folder from target_folders where folder ~ 'sites'")) == 1


async def test_the_version_before_cannot_take_a_folder_either(database: Database) -> None:
    async with database.transaction() as tx:
        assert await folders.take(tx.connection, "b", "b")
    with pytest.raises(asyncpg.UniqueViolationError, match="belongs to another brand"):
        async with database.transaction() as tx:
            await publications.set_settings(tx.connection, "a", "files", TargetSettings(folder="b/posts"))


async def test_nothing_is_written_into_a_folder_that_has_become_anothers(targets: Any) -> None:
    async with targets.database.transaction() as tx:
        await publications.set_settings(
            tx.connection, "daily-grind", "files", TargetSettings(address=ADDRESS, folder="sites/blog")
        )
        await tx.connection.execute("update target_folders set brand_slug = 'b'")
    refused = await targets.publish(targets.orchestrator.add(), "files")
    assert (refused["reason"], "--folder" in refused["detail"]) == ("folder_taken", True)
    assert list(targets.folder.rglob("*")) == []


async def test_a_brands_own_name_is_its_folder_from_the_first_article_on(targets: Any, api: Api) -> None:
    async with targets.database.transaction() as tx:
        await publications.set_settings(
            tx.connection, "daily-grind", "files", TargetSettings(address=ADDRESS)
        )
    assert (await targets.publish(targets.orchestrator.add(), "files"))["type"] == "content.published"
    assert (await api.put("b", "daily-grind/posts")).status_code == 409


async def test_folders_of_before_belong_to_the_brand_that_is_called_like_them_or_had_them_first(
    make_database: Callable[..., Awaitable[str]],
) -> None:
    *before, migration = [path for path in sorted(MIGRATIONS.glob("*.sql")) if path.name < "0019"]
    connection = await asyncpg.connect(await make_database(None))
    try:
        for path in before:
            await connection.execute(path.read_text())
        rows = [("a", "files", "b"), ("b", "files", None), ("a", "web", "sites/x"), ("c", "files", "sites/x")]
        for brand, target, folder in rows:
            settings = TargetSettings(folder=folder).model_dump_json(exclude_defaults=True)
            await connection.execute(
                "insert into target_settings (brand_slug, target, settings) values ($1, $2, $3::text::jsonb)",
                brand,
                target,
                settings,
            )
        await connection.execute(migration.read_text())
        found = await connection.fetch("select folder, brand_slug from target_folders order by folder")
        assert list(map(tuple, found)) == [("a", "a"), ("b", "b"), ("c", "c"), ("sites/x", "a")]
    finally:
        await connection.close()
