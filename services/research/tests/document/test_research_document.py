"""Research answers every request that its document allows as the document says."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from reading.folder import FileStat
from reading.ranking.sources import RankedPassage, ResearchSource
from research.http_api import create_api
from research.index.files import IndexedFile, save_files
from research.store import NewResearch, ResearchCacheKey, save_researches
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz

KEY = "a-service-key-for-tests"
MANY = 50
"""Of what can be removed: a run removes some of them before it asks for them otherwise."""
SOURCE = ResearchSource(
    "Steeping", None, "steeping.md", "MIT", (RankedPassage("Time", "Twelve hours.", 1.5, ()),)
)


@pytest.fixture
async def api(research_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(research_database, ServiceKey(SecretStr(KEY)), look_again=lambda: None, has_gateway=True)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers={"X-Service-Key": KEY}) as client,
    ):
        yield client


@pytest.fixture
async def known(api: httpx.AsyncClient, research_database: Database) -> dict[str, list[str | int]]:
    """By parameter: research, a brand's documents, and files of the folder that could not be read."""
    files = [
        IndexedFile(FileStat(f"{number}.md", 3, number), None, "it is broken", set_aside=True)
        for number in range(MANY)
    ]
    async with research_database.transaction() as tx:
        await save_files(tx.connection, "/corpus", files)
        key = ResearchCacheKey("daily-grind", "cold brew", provider="corpus", looked_in="folder")
        (research,) = await save_researches(
            tx.connection, [NewResearch(key, priority="high", sources=[SOURCE])]
        )
    documents = (await api.get("/v1/documents", params={"limit": MANY})).json()["items"]
    uploads = []
    for number in range(MANY):
        path = f"/v1/brands/daily-grind/documents?name={number}.md"
        uploads.append((await api.post(path, content=f"# Guide {number}")).json()["id"])
    return {
        "path.slug": ["daily-grind"],
        "path.research_id": [str(research)],
        "path.document_id": [each["id"] for each in documents],
        "path.upload_id": uploads,
        "query.name": ["guide.md", "handbook.pdf"],
        "query.url": ["https://example.org/guide"],
        "query.type": ["research.requested"],
    }


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_research_is_as_documented(
    api: httpx.AsyncClient, known: dict[str, list[str | int]], tmp_path: Path, thorough: bool
) -> None:
    # Nothing reads documents here: all of them wait, and are nothing to release.
    known["path.part"] = ["research"]
    unreached = {"POST /v1/brands/{slug}/documents/{upload_id}/release"}
    await fuzz(api, tmp_path, known=known, thorough=thorough, unreached=unreached)
