"""What every route under `/v1` does by convention, over real HTTP."""

import gzip
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import BaseModel, SecretStr
from starlette.responses import StreamingResponse

from chassis import ServiceKey
from chassis.http.api import MayRead, MaySubmit, add_routes, api, file_body, router
from chassis.http.conventions.bodies import duplicate_member
from chassis.http.conventions.pages import DEFAULT_PAGE, MAX_PAGE, FormerlyLargerLimit, PageLimit
from chassis.testing import serving

KEY = "test-service-key-0123456789"
TEXT = "A tree is a plant that is tall. " * 100
PLAIN = {"Accept-Encoding": "identity"}
PICTURE = "/v1/trees/oak/picture"
SEED = "/v1/trees/oak/seed"
LISTS = {"requestBody": {"content": {"text/csv": {"schema": {"type": "string"}}}}}


class Tree(BaseModel):
    name: str
    about: dict[str, Any] = {}


def trees() -> FastAPI:
    app = api(
        "Trees",
        ServiceKey(SecretStr(KEY)),
        files={"/v1/trees/{name}/picture": 1_000, "/v1/trees/{name}/seed": 1_000},
        lists=["/v1/trees/list"],
    )
    add_routes(app, reading(), planting())
    return app


def reading() -> APIRouter:
    routes = router("/trees")

    @routes.get("")
    async def list_trees(
        caller: MayRead,
        tall: Annotated[bool, Query(alias="is-tall")] = False,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> int:
        return limit + tall

    @routes.get("/former")
    async def list_former_trees(caller: MayRead, limit: FormerlyLargerLimit = DEFAULT_PAGE) -> int:
        return limit

    @routes.get("/large")
    async def get_large_tree(caller: MayRead) -> Tree:
        return Tree(name=TEXT)

    @routes.get("/own")
    async def get_own_tag(caller: MayRead) -> Response:
        return Response(TEXT, headers={"ETag": '"own"'}, media_type="application/json")

    @routes.get("/secret")
    async def get_secret_tree(caller: MayRead) -> Response:
        return Response("{}", headers={"Cache-Control": "no-store"}, media_type="application/json")

    @routes.get("/parts")
    async def get_tree_in_parts(caller: MayRead) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"one "
            yield b"two"

        return StreamingResponse(parts(), media_type="text/plain")

    return routes


def planting() -> APIRouter:
    routes = router("/trees")

    @routes.post("")
    async def plant_tree(caller: MaySubmit, tree: Tree) -> str:
        return tree.name

    @routes.post("/list", openapi_extra=LISTS)
    async def plant_list(caller: MaySubmit, tree: Tree) -> str:
        return tree.name

    @routes.put("/{name}/picture", openapi_extra=file_body("image/png"))
    async def set_picture(caller: MaySubmit, name: str, request: Request) -> int:
        return len(name + str(len(await request.body())))

    @routes.put("/{name}/seed", openapi_extra=file_body("application/octet-stream"))
    async def set_seed(caller: MaySubmit, name: str, request: Request) -> int:
        return len(name + str(len(await request.body())))

    return routes


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving(trees()) as origin,
        httpx.AsyncClient(base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False) as client,
    ):
        yield client


async def test_an_answer_has_an_etag_and_is_not_sent_twice(client: httpx.AsyncClient) -> None:
    first = await client.get("/v1/trees", headers=PLAIN)
    again = await client.get("/v1/trees", headers=PLAIN | {"If-None-Match": first.headers["etag"]})
    other = await client.get(
        "/v1/trees", params={"limit": 3}, headers={"If-None-Match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-type" not in again.headers
    assert (other.status_code, other.json()) == (200, 3)
    assert first.headers["cache-control"] == "private, no-cache"


async def test_a_route_keeps_the_etag_that_it_knows(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/trees/own", headers=PLAIN)).headers["etag"] == '"own"'


@pytest.mark.parametrize("path", ["/v1/trees/secret", "/v1/trees/parts"])
async def test_what_nobody_may_keep_or_comes_in_parts_has_no_etag(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(path, headers={"If-None-Match": "*"})
    assert answer.status_code == 200
    assert "etag" not in answer.headers
    assert answer.text in {"{}", "one two"}


async def test_head_is_get_without_the_body(client: httpx.AsyncClient) -> None:
    for path in ("/v1/trees", "/v1/trees/large", "/v1/trees/parts"):
        read, asked = await client.get(path, headers=PLAIN), await client.head(path, headers=PLAIN)
        assert (asked.status_code, asked.content) == (200, b"")
        assert asked.headers.get("content-length") == read.headers.get("content-length")
        assert asked.headers.get("etag") == read.headers.get("etag")
    known = {"If-None-Match": asked.headers.get("etag", "*")}
    assert (await client.head("/v1/trees", headers=known)).status_code == 304
    refused = await client.head("/v1/trees/oak/picture")
    assert (refused.status_code, refused.headers["allow"]) == (405, "PUT")
    assert (await client.head("/v1/trees", headers={"X-Service-Key": "wrong"})).status_code == 401


async def test_large_answers_are_compressed_for_whoever_takes_that(client: httpx.AsyncClient) -> None:
    plain = await client.get("/v1/trees/large", headers=PLAIN)
    async with client.stream("GET", "/v1/trees/large", headers={"Accept-Encoding": "gzip"}) as packed:
        body = b"".join([part async for part in packed.aiter_raw()])
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(body) < len(plain.content) / 5
    assert json.loads(gzip.decompress(body)) == plain.json()
    # The same in other bytes.
    assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
    for accepted in ("gzip", "identity"):
        headers = {"If-None-Match": packed.headers["etag"], "Accept-Encoding": accepted}
        assert (await client.get("/v1/trees/large", headers=headers)).status_code == 304


async def test_small_answers_are_sent_as_they_are(client: httpx.AsyncClient) -> None:
    assert "content-encoding" not in (await client.get("/v1/trees")).headers


@pytest.mark.parametrize("query", ["limti=3", "is-tall=true&tall=true", "=", "%00=1", "limit=1&LIMIT=1"])
async def test_an_unknown_parameter_is_refused_with_those_there_are(
    client: httpx.AsyncClient, query: str
) -> None:
    refused = await client.get(f"/v1/trees?{query}")
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_parameter")
    assert "those it knows are is-tall, limit" in refused.json()["detail"]
    assert (await client.get("/v1/trees/large?x=1")).json()["detail"].endswith("it takes none")
    assert (await client.get("/v1/trees?is-tall=true&limit=2")).json() == 3


async def test_pages_hold_one_number_of_entries(client: httpx.AsyncClient) -> None:
    for path, limit, expected in (
        ("/v1/trees", MAX_PAGE, MAX_PAGE),
        ("/v1/trees/former", 1000, MAX_PAGE),
        ("/v1/trees/former", 7, 7),
    ):
        assert (await client.get(path, params={"limit": limit})).json() == expected
    for path, limit in (
        ("/v1/trees", "201"),
        ("/v1/trees/former", "1001"),
        ("/v1/trees/former", "0"),
        ("/v1/trees/former", "x"),
        ("/v1/trees/former", "9" * 5000),
    ):
        assert (await client.get(path, params={"limit": limit})).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "oak", "name": "elm"}',
        b'{"name": "oak", "about": {"a": 1, "b": [{"c": 1, "c": 1}]}}',
        b'{"name": "oak", "n\\u0061me": "elm"}',
        b'{"name": "oak", "about": {"n": ' + b"9" * 4000 + b', "c": 1, "c": 1}}',
    ],
)
async def test_a_member_that_comes_twice_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    refused = await client.post("/v1/trees", content=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "duplicate_member")
    assert "twice" in refused.json()["detail"]


def test_members_of_different_objects_may_have_one_name() -> None:
    assert duplicate_member(b'{"a": {"a": [{"a": 1}, {"a": 2}]}}') is None
    assert duplicate_member(b"no JSON {") is None


@pytest.mark.parametrize(
    ("method", "path", "given", "taken"),
    [
        ("POST", "/v1/trees", "application/x-www-form-urlencoded", "application/json"),
        ("POST", "/v1/trees", "text/plain", "application/json"),
        ("POST", "/v1/trees", "application/xml; charset=utf-8", "application/json"),
        ("POST", "/v1/trees/list", "text/html", "application/json, text/csv"),
        ("PUT", PICTURE, "multipart/form-data; boundary=x", "image/png, application/octet-stream"),
        ("PUT", PICTURE, "application/json", "image/png, application/octet-stream"),
        ("PUT", SEED, "application/x-www-form-urlencoded", "application/octet-stream"),
        ("PUT", SEED, "multipart/form-data; boundary=x", "application/octet-stream"),
    ],
)
async def test_a_body_of_another_type_is_refused(
    client: httpx.AsyncClient, method: str, path: str, given: str, taken: str
) -> None:
    refused = await client.request(method, path, content=b'{"name": "oak"}', headers={"Content-Type": given})
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")
    assert refused.headers["accept"] == taken
    stranger = {"Content-Type": given, "X-Service-Key": "wrong"}
    assert (await client.request(method, path, content=b"x", headers=stranger)).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("POST", "/v1/trees", "application/json"),
        ("POST", "/v1/trees", "Application/JSON; charset=utf-8"),
        ("POST", "/v1/trees", "application/merge-patch+json"),
        ("POST", "/v1/trees", None),
        ("PUT", PICTURE, "image/png"),
        ("PUT", PICTURE, "application/octet-stream"),
        ("PUT", PICTURE, None),
        ("PUT", SEED, "application/pdf"),
        ("PUT", SEED, "application/json"),
    ],
)
async def test_a_body_of_the_type_or_of_none_is_taken(
    client: httpx.AsyncClient, method: str, path: str, given: str | None
) -> None:
    headers = {} if given is None else {"Content-Type": given}
    answer = await client.request(method, path, content=b'{"name": "oak"}', headers=headers)
    assert answer.status_code == 200


async def test_a_type_without_a_body_is_no_matter(client: httpx.AsyncClient) -> None:
    refused = await client.post("/v1/trees", headers={"Content-Type": "text/plain"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
