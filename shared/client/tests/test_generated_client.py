"""A client made from the document of a small API, and its calls to that API."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest
from fastapi import FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import BaseModel

from chassis.testing import serving
from client import (
    Address,
    AddressError,
    RefusedError,
    StrangeAnswerError,
    UnchangedError,
    UnreachableError,
    connections,
    etag_of,
    items_of,
    read_if_known,
    read_up_to,
)
from client.generator import GENERATED, SERVICES, document_of, modules_of

ID = UUID(int=7)
NOWHERE = Address("http://127.0.0.1:1", "nobody")


class Pot(BaseModel):
    name: str
    lid: str | None = None


class PotList(BaseModel):
    items: list[Pot]
    next: int | None


def kitchen() -> FastAPI:  # noqa: C901  (a small API)
    app = FastAPI(title="Kitchen", generate_unique_id_function=lambda route: route.name)
    app.state.seen = []
    app.state.ports = []

    @app.middleware("http")
    async def note_connection(request: Request, answer: Any) -> Response:
        assert request.client is not None
        app.state.ports.append(request.client.port)
        noted: Response = await answer(request)
        return noted

    @app.get("/v1/pots")
    async def list_pots(after: int = 0, limit: int = 2, from_: str | None = None) -> PotList:
        found = [Pot(name=str(number)) for number in range(after, min(after + limit, 5))]
        following = after + limit
        return PotList(items=found, next=following if following < 5 else None)

    @app.put("/v1/pots/{name}/{pot_id}")
    async def set_pot(
        name: str, pot_id: UUID, pot: Pot, request: Request, if_match: Annotated[str | None, Header()] = None
    ) -> Pot:
        app.state.seen.append((await request.json(), if_match, request.headers.get("x-service-key")))
        return pot

    @app.get("/v1/pots/{name}")
    async def get_pot(
        name: str, response: Response, if_none_match: Annotated[str | None, Header()] = None
    ) -> Pot:
        if name == "gone":
            problem = {"code": "unknown_pot", "detail": "there is no such pot; look at the list"}
            return JSONResponse(problem, 404)  # type: ignore[return-value]
        if name == "strange":
            return JSONResponse({"hello": "world"})  # type: ignore[return-value]
        if if_none_match == '"1"':
            return Response(status_code=304)  # type: ignore[return-value]
        response.headers["ETag"] = '"1"'
        return Pot(name=name)

    @app.delete("/v1/pots/{name}", status_code=204)
    async def delete_pot(name: str) -> None:
        app.state.seen.append(name)

    @app.post(
        "/v1/soup", openapi_extra={"requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    )
    async def cook_soup(request: Request) -> Pot:
        parts = [part async for part in request.stream() if part]
        return Pot(name=b"".join(parts).decode(), lid=request.headers["content-type"])

    @app.get("/v1/recipe", response_class=PlainTextResponse)
    async def read_recipe() -> str:
        return "Boil it."

    @app.get(
        "/v1/crates", responses={200: {"content": {"application/zip": {}}}}, response_class=StreamingResponse
    )
    async def export_crates() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"a"
            yield b"b"

        return StreamingResponse(parts(), media_type="application/zip")

    return app


@pytest.fixture(scope="module")
def made() -> Any:
    text = modules_of("kitchen", kitchen().openapi())["__init__.py"]
    found: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, "made", "exec"), found)
    return SimpleNamespace(**found)


@pytest.fixture
def app() -> FastAPI:
    return kitchen()


@pytest.fixture
async def url(app: FastAPI) -> AsyncIterator[str]:
    async with serving(app) as address:
        yield address


async def test_every_kind_of_answer_arrives(made: Any, app: FastAPI, url: str) -> None:
    async with made.AsyncKitchen(Address(url, "key")) as kitchen:
        pot = await kitchen.get_pot("iron pot?")
        assert pot == {"name": "iron pot?", "lid": None}
        with pytest.raises(UnchangedError):
            await kitchen.get_pot("iron", if_none_match=etag_of(pot))
        assert await kitchen.delete_pot("iron") is None
        assert await kitchen.read_recipe() == "Boil it."
        soup = await kitchen.cook_soup(
            (part async for part in _parts()), content_type="text/plain; charset=utf-8"
        )
        assert soup == {"name": "leek", "lid": "text/plain; charset=utf-8"}
        async with kitchen.export_crates() as parts:
            assert [part async for part in parts] == [b"a", b"b"]


@pytest.mark.parametrize(("seconds", "connections_opened"), [(connections.KEEPALIVE_SECONDS, 1), (0, 2)])
async def test_an_idle_connection_is_used_until_it_is_too_old(
    made: Any,
    app: FastAPI,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    connections_opened: int,
) -> None:
    monkeypatch.setattr(connections, "KEEPALIVE_SECONDS", seconds)
    async with made.AsyncKitchen(Address(url, "key")) as kitchen:
        await kitchen.read_recipe()
        await kitchen.read_recipe()
    assert len(set(app.state.ports)) == connections_opened
    app.state.ports.clear()
    with made.Kitchen(Address(url, "key")) as kitchen:
        await asyncio.to_thread(kitchen.read_recipe)
        await asyncio.to_thread(kitchen.read_recipe)
    assert len(set(app.state.ports)) == connections_opened


async def _parts() -> AsyncIterator[bytes]:
    yield b"le"
    yield b"ek"


async def test_fields_left_out_are_not_sent_and_none_is_null(made: Any, app: FastAPI, url: str) -> None:
    async with made.AsyncKitchen(Address(url, "key")) as kitchen:
        await kitchen.set_pot("a", ID, body_name="iron")
        await kitchen.set_pot("a", ID, body_name="iron", lid=None, if_match='"1"', extra={"of_later": 1})
    assert app.state.seen == [
        ({"name": "iron"}, None, "key"),
        ({"name": "iron", "lid": None, "of_later": 1}, '"1"', "key"),
    ]


async def test_what_goes_wrong_is_an_error_with_a_sentence(made: Any, url: str) -> None:
    async with made.AsyncKitchen(Address(url, "be_key")) as kitchen:
        with pytest.raises(
            RefusedError, match=r"there is no such pot; look at the list \(HTTP 404\)"
        ) as refused:
            await kitchen.get_pot("gone")
        assert (refused.value.status, refused.value.code) == (404, "unknown_pot")
        with pytest.raises(StrangeAnswerError, match="does not answer like the kitchen service"):
            await kitchen.get_pot("strange")
    async with made.AsyncKitchen(NOWHERE) as kitchen:
        with pytest.raises(
            UnreachableError, match=r"the kitchen service at http://127\.0\.0\.1:1 cannot be reached"
        ):
            await kitchen.get_pot("iron")
    with made.Kitchen(Address("http://[", "key")) as kitchen, pytest.raises(AddressError):
        kitchen.get_pot("iron")


def test_synchronous_calls_fail_alike_and_pages_follow_each_other(made: Any) -> None:
    asked: list[dict[str, Any]] = []

    class Pots(made.Kitchen):  # type: ignore[misc]
        def _json(self, request: Any, fields: Any = ()) -> Any:
            asked.append({name: each for name, each in request.query.items() if each is not None})
            after = request.query["after"] or 0
            return {"items": [{"name": after}, {"name": after + 1}], "next": after + 2 if after < 4 else None}

    pots = Pots(NOWHERE)
    assert [each["name"] for each in items_of(pots.list_pots, limit=2)] == [0, 1, 2, 3, 4, 5]
    assert asked == [{"limit": 2}, {"limit": 2, "after": 2}, {"limit": 2, "after": 4}]
    page = read_up_to(4, pots.list_pots)
    assert ([each["name"] for each in page["items"]], page["next"]) == ([0, 1], 2)
    with made.Kitchen(NOWHERE) as kitchen, pytest.raises(UnreachableError):
        kitchen.get_pot("iron")


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
def test_the_generated_client_is_that_of_the_services(service: str, tmp_path: Path) -> None:
    for name, text in modules_of(service, document_of(service, tmp_path)).items():
        assert (GENERATED / service / name).read_text() == text, (
            "the API has changed: deploy/local/setup.sh python makes its client anew"
        )


@pytest.mark.parametrize("service", SERVICES)
def test_a_client_loads_nothing_but_itself_before_its_first_call(service: str) -> None:
    program = (
        f"import sys, client.services.{service}; print('httpx' in sys.modules, 'pydantic' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "False False\n"


def test_what_a_service_does_not_know_is_none() -> None:
    def refused(status: int) -> Any:
        def read(_: str) -> None:
            raise RefusedError("no", status, {})

        return read

    assert read_if_known(refused(404), "pot") is None
    assert read_if_known(refused(410), "pot", or_gone=True) is None
    with pytest.raises(RefusedError):
        read_if_known(refused(410), "pot")
    assert read_if_known(str, "pot") == "pot"
