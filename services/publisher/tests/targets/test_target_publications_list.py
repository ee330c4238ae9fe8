"""The list of a brand's publications: by state, in the order of creation or the reverse, page by page."""

import httpx
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller
from messaging import Database
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.urls import SiteUrls

ORIGIN = "https://blog.example.org"
PATH = "/v1/brands/acme/publications"


async def _everything(_: Request) -> Caller:
    return SERVICE


async def test_failures_are_listed_the_newest_first_and_page_by_page(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.connection.execute(
            """
            insert into publications (content_id, target, brand_slug, kind, state)
            select gen_random_uuid(), 'target-' || n, 'acme', 'ghost', case n % 2 when 0 then 'failed' else 'published' end
            from generate_series(1, 6) as n order by n
            """
        )
    urls = SiteUrls.under(ORIGIN)
    app = create_api(database, _everything, urls, sites=create_app(database, urls, articles_per_page=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:

        async def listed(**query: str | int) -> list[str]:
            names: list[str] = []
            after: int | None = 0
            while after is not None:
                page = (await client.get(PATH, params={**query, "after": after, "limit": 2})).json()
                names += [each["target"] for each in page["items"]]
                after = page["next"]
            return names

        assert await listed(state="failed", newest="true") == ["target-6", "target-4", "target-2"]
        assert await listed(state="failed") == ["target-2", "target-4", "target-6"]
        assert await listed(newest="true") == [f"target-{number}" for number in (6, 5, 4, 3, 2, 1)]
        assert (await client.get(PATH, params={"state": "lost"})).status_code == 422
