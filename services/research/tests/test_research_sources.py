"""`/v1/brands/{slug}/sources`, and `brandctl sources` as a process of its own."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from research.http_api import create_api
from tests.fixtures.commands.brandctl import Operator

KEY = "a-service-key-for-tests"
FOLDER_ALONE = {
    "folder": True,
    "web": None,
    "urls": [],
    "feeds": [],
    "blocked_hosts": [],
    "preferred_hosts": [],
    "own_hosts": [],
}


@pytest.fixture
async def api(research_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(research_database, ServiceKey(SecretStr(KEY)), look_again=lambda: None, has_gateway=True)
    async with (
        serving(app) as url,
        httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}) as client,
    ):
        yield client


async def test_a_brand_has_the_folder_alone_until_something_is_set(api: httpx.AsyncClient) -> None:
    first = await api.get("/v1/brands/acme/sources")
    assert (first.status_code, first.json()) == (200, FOLDER_ALONE)
    given = {
        "web": {"language": "en"},
        "urls": ["https://example.org/a#top", "https://example.org/a"],
        "blocked_hosts": ["Bücher.example", "xn--bcher-kva.example"],
    }
    put = await api.put("/v1/brands/acme/sources", json=given)
    expected = FOLDER_ALONE | {
        "web": {"language": "en", "freshness": None, "queries": 2, "proposals": False},
        "urls": ["https://example.org/a"],
        "blocked_hosts": ["xn--bcher-kva.example"],
    }
    assert (put.status_code, put.json()) == (200, expected)
    again = await api.put("/v1/brands/acme/sources", json=put.json())
    assert again.json() == expected
    read = await api.get("/v1/brands/acme/sources")
    assert read.json() == expected
    unchanged = await api.get("/v1/brands/acme/sources", headers={"If-None-Match": read.headers["etag"]})
    assert unchanged.status_code == 304
    assert (await api.get("/v1/brands/other/sources")).json() == FOLDER_ALONE


async def test_what_a_later_version_has_set_is_passed_over(
    api: httpx.AsyncClient, research_database: Database
) -> None:
    await api.put("/v1/brands/acme/sources", json={"web": {"queries": 3}})
    async with research_database.connection() as connection:
        await connection.execute(
            """update brand_sources set settings = settings || '{"moon": 1}' || jsonb_build_object('web',"""
            """ settings->'web' || '{"country": "de"}')"""
        )
    stored = (await api.get("/v1/brands/acme/sources")).json()
    assert (stored["web"]["queries"], "moon" in stored, "country" in stored["web"]) == (3, False, False)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"urls": ["ftp://example.org/"]}, "urls[0]: is not an address"),
        ({"urls": ["https://①②⑦.0.0.1/"]}, "a host that not every program reads alike"),
        ({"preferred_hosts": ["①②⑦.0.0.1"]}, "is not a host"),
        ({"urls": ["https://user:secret@example.org/"]}, "user or a password"),
        ({"feeds": ["http://example.org:8080/feed"]}, "port"),
        ({"urls": ["http://example.org/a b"]}, "spaces"),
        ({"urls": ["https://example.org/"] * 31}, "more than 30 entries"),
        ({"feeds": ["https://example.org/"] * 11}, "more than 10 entries"),
        ({"blocked_hosts": ["https://example.org"]}, "is not a host"),
        ({"preferred_hosts": ["com"]}, "is not a host"),
        ({"web": {"queries": 9}}, "web.queries"),
        ({"web": {"freshness": "ever"}}, "web.freshness"),
        ({"webb": {}}, "is not a field"),
    ],
)
async def test_what_could_not_be_read_is_refused(
    api: httpx.AsyncClient, given: dict[str, Any], complaint: str
) -> None:
    answer = await api.put("/v1/brands/acme/sources", json=given)
    assert answer.status_code == 422
    assert complaint in answer.json()["detail"]
    assert "secret" not in answer.text
    assert (await api.get("/v1/brands/acme/sources")).json() == FOLDER_ALONE


async def test_without_a_gateway_the_web_cannot_be_chosen(research_database: Database) -> None:
    app = create_api(research_database, ServiceKey(SecretStr(KEY)), look_again=lambda: None)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://r", headers={"X-Service-Key": KEY}
    ) as api:
        refused = await api.put("/v1/brands/acme/sources", json={"web": {}})
        assert (refused.status_code, "GATEWAY_URL" in refused.json()["detail"]) == (422, True)
        assert (await api.put("/v1/brands/acme/sources", json=FOLDER_ALONE)).status_code == 200
        assert (await api.put("/v1/brands/No_slug/sources", json=FOLDER_ALONE)).status_code == 422
        api.headers["X-Service-Key"] = "wrong"
        assert (await api.get("/v1/brands/acme/sources")).status_code == 401


@pytest.mark.extended
async def test_brandctl_changes_what_is_named_and_shows_all(api: httpx.AsyncClient) -> None:
    variables = {"RESEARCH_URL": str(api.base_url), "SERVICE_KEY": KEY}
    brandctl = Operator(Path("/"), variables, "sources")

    set_first = ("--no-folder", "--language", "en", "--url", "https://a.example/1", "--block", "b.example")
    assert (await brandctl("set", "acme", *set_first))[0] == 0
    code, out, _ = await brandctl("set", "acme", "--url", "https://a.example/2", "--clear", "blocked_hosts")
    assert code == 0
    assert [line.split(maxsplit=1) for line in out.replace("blocked hosts", "blocked").splitlines()[:4]] == [
        ["folder", "not searched"],
        ["web", "2 searches for a keyword, language en, of any age"],
        ["urls", "https://a.example/2"],
        ["feeds", "none"],
    ]
    stored = (await api.get("/v1/brands/acme/sources")).json()
    assert stored == FOLDER_ALONE | {
        "folder": False,
        "web": {"language": "en", "freshness": None, "queries": 2, "proposals": False},
        "urls": ["https://a.example/2"],
    }
    assert (await brandctl("set", "acme", "--no-web", "--folder"))[0] == 0
    assert (await api.get("/v1/brands/acme/sources")).json()["web"] is None
    code, _, err = await brandctl("set", "acme", "--url", "ftp://a.example")
    assert (code, "is not an address of a page" in err) == (1, True)
    assert (await brandctl("set", "acme"))[0] == 2
    assert (await brandctl("set", "acme", "--clear", "folder"))[0] == 2
