"""The page `/docs` of an API: its contents; a browser shows it without anything from elsewhere."""

from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Query
from playwright.async_api import BrowserContext
from pydantic import BaseModel, Field, SecretStr

from chassis import ServiceKey
from chassis.http.api import UNKNOWN, api, file_body, router
from chassis.http.reference.operations import chapters_of
from chassis.testing import serving


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Leaf(BaseModel):
    colour: Colour = Field(description="As it is *seen* <b>outside</b>.")
    inside: list["Leaf"] = []


class Tree(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=40, examples=["the cook's `oak`"])]
    leaves: list[Leaf] | None = None
    height: int = 3


@pytest.fixture
def app() -> FastAPI:
    trees = router("/trees", tags=["trees"])

    @trees.put("/{tree_id}", summary="Plant a tree", responses=UNKNOWN)
    async def plant(
        tree_id: int, tree: Tree, season: Annotated[str | None, Query(description="When.")] = None
    ) -> Tree:
        """Again changes `nothing`.

        1. Dig.
        2. Wait.
        """
        return tree

    app = api(
        "Trees & <script>alert(1)</script>",
        ServiceKey(SecretStr("test-service-key-0123456789")),
        description="For `gardeners`.",
        openapi_tags=[{"name": "trees", "description": "Tall ones."}],
    )
    app.include_router(trees)
    return app


@pytest.fixture
async def origin(app: FastAPI) -> AsyncIterator[str]:
    async with serving(app) as origin:
        yield origin


def test_operations_are_read_with_their_fields_bounds_and_a_command(app: FastAPI) -> None:
    (chapter,) = chapters_of(app.openapi())
    (plant,) = chapter.operations
    assert (chapter.heading, chapter.description) == ("trees", "Tall ones.")
    assert (plant.method, plant.path, plant.summary) == ("PUT", "/v1/trees/{tree_id}", "Plant a tree")
    assert [(each.place, each.field.name, each.field.type) for each in plant.parameters] == [
        ("path", "tree_id", "integer"),
        ("query", "season", "string or null"),
    ]
    name, leaves, height = plant.body
    assert (name.required, name.bounds) == (True, "1 to 40 characters")
    assert (leaves.type, height.default) == ("list of object or null", "3")
    colour, inside = leaves.fields
    assert (colour.type, inside.fields[0].name) == ('"red" or "blue"', "colour")
    assert [each.status for each in plant.answers] == [
        "200",
        "401",
        "403",
        "404",
        "413",
        "415",
        "422",
        "429",
        "503",
    ]
    assert plant.command.splitlines() == [
        'curl -X PUT "$URL/v1/trees/{tree_id}" -H "X-Service-Key: $SERVICE_KEY" \\',
        "  -H 'Content-Type: application/json' -d '{\"name\": \"the cook'\"'\"'s `oak`\"}'",
    ]


def test_the_command_of_a_route_that_takes_a_file_sends_one() -> None:
    pictures = router("/pictures")

    @pictures.post("", openapi_extra=file_body("image/png"))
    async def hang(name: Annotated[str, Query(examples=["an oak.png"])], wall: str = "north") -> None: ...

    app = api(
        "Pictures", ServiceKey(SecretStr("test-service-key-0123456789")), files={"/v1/pictures": 5_000_000}
    )
    app.include_router(pictures)
    ((operation,),) = (chapter.operations for chapter in chapters_of(app.openapi()))
    assert operation.command.splitlines() == [
        'curl -X POST "$URL/v1/pictures?name=an+oak.png" -H "X-Service-Key: $SERVICE_KEY" \\',
        "  -H 'Content-Type: image/png' --data-binary @FILE",
    ]
    (refused,) = (each for each in operation.answers if each.status == "413")
    assert refused.description == "The request body is larger than 5 MB."


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 390])
async def test_a_browser_shows_the_page_with_nothing_from_elsewhere(
    origin: str, new_browser_context: Callable[..., Awaitable[BrowserContext]], width: int
) -> None:
    page = await (await new_browser_context(viewport={"width": width, "height": 844})).new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on("request", lambda request: asked.append(request.url))
    answer = await page.goto(f"{origin}/docs", wait_until="networkidle")
    assert answer is not None
    assert answer.status == 200
    assert "script-src 'none'" in answer.headers["content-security-policy"]
    assert {f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in asked} == {origin}
    assert await page.title() == "Trees & <script>alert(1)</script>"
    assert await page.evaluate("getComputedStyle(document.querySelector('pre')).backgroundColor") != (
        "rgba(0, 0, 0, 0)"
    )
    await page.click("nav a")
    assert await page.evaluate("location.hash") == "#plant"
    shown = await page.inner_text("article")
    assert "Again changes nothing." in shown
    assert "<b>outside</b>" in shown
    assert "The request body is larger than 64 kB." in shown
    assert [await each.inner_text() for each in await page.query_selector_all("article li")] == [
        "Dig.",
        "Wait.",
    ]
    detail = page.locator("details", has_text="The key is missing").locator("dl").first
    assert not await detail.is_visible()
    await page.locator("summary", has_text="The key is missing").click()
    assert await detail.is_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []


async def test_the_page_needs_no_key_and_is_kept_by_whoever_has_it(origin: str) -> None:
    async with httpx.AsyncClient(base_url=origin, trust_env=False) as anyone:
        page = await anyone.get("/docs")
        assert (await anyone.get("/docs", headers={"If-None-Match": page.headers["etag"]})).status_code == 304
        assert (await anyone.get("/redoc")).status_code == 404
        assert "script" not in page.text.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
        for missing in ("/docs/assets/other.css", "/docs/assets/..%2freference.css"):
            assert (await anyone.get(missing)).status_code == 404
