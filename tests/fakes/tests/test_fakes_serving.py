"""Faults strike as described, over real connections, and accepted requests of all callers are counted."""

import asyncio
from collections.abc import Callable
from urllib.error import HTTPError

import httpx
import pytest

from fakes import Faults, Kind, Request, in_thread, serving
from fakes.plain import FakePlain
from fakes.serving.process import FakeProcess, started

HELLO = {"text": "Hello"}
AUTH = {"Authorization": "Bearer plain-token"}


def client(fake: FakePlain, seconds: float = 5) -> httpx.AsyncClient:
    """With so long to wait for an answer; to connect may take longer on a machine that is busy."""
    timeout = httpx.Timeout(5, read=seconds)
    return httpx.AsyncClient(base_url=fake.url, headers=AUTH, trust_env=False, timeout=timeout)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a fake tells nobody
        await asyncio.sleep(0.01)


async def test_it_answers_on_one_connection_and_counts() -> None:
    async with serving(FakePlain()) as fake, client(fake) as http:
        made = await http.post("/items", json=HELLO)
        listed = await http.get("/items")
        refused = await http.get("/items", headers={"Authorization": "Bearer another"})
        nowhere = await http.get("/nowhere")
        wrong_way = await http.delete("/items")
    assert (made.status_code, listed.json()["items"]) == (201, [made.json()])
    assert (refused.status_code, nowhere.status_code, wrong_way.status_code) == (401, 404, 405)
    assert [each.text for each in fake.accepted] == ["Hello"]
    assert [each.path for each in fake.requests] == ["/items", "/items", "/items", "/nowhere", "/items"]


@pytest.mark.parametrize(
    ("kind", "accepted", "error"),
    [
        ("reset_before", 0, httpx.ReadError),
        ("reset_after", 1, httpx.ReadError),
        ("cut_after", 1, (httpx.ReadError, httpx.RemoteProtocolError)),
        ("hang_before", 0, httpx.ReadTimeout),
        ("hang_after", 1, httpx.ReadTimeout),
    ],
)
async def test_an_answer_that_never_comes(
    kind: Kind, accepted: int, error: type[Exception] | tuple[type[Exception], ...]
) -> None:
    async with serving(FakePlain()) as fake, client(fake) as http:
        fault = fake.faults.inject(kind, "POST /items")
        with pytest.raises(error):
            await http.post("/items", json=HELLO, timeout=httpx.Timeout(60, read=0.5))
        await until(lambda: fault.fired > 0)
        assert (fault.fired, len(fake.accepted)) == (1, accepted)
        assert (await http.post("/items", json=HELLO)).status_code == 201


@pytest.mark.parametrize(
    ("kind", "accepted", "status"),
    [("error_before", 0, 502), ("error_after", 1, 502), ("limited", 0, 429), ("expired", 0, 401)],
)
async def test_an_answer_that_says_no(kind: Kind, accepted: int, status: int) -> None:
    async with serving(FakePlain()) as fake, client(fake) as http:
        fake.faults.inject(kind, "POST /items", status=502)
        assert (await http.post("/items", json=HELLO)).status_code == status
    assert len(fake.accepted) == accepted


async def test_what_is_late_is_done_when_nobody_waits_any_more() -> None:
    async with serving(FakePlain()) as fake, client(fake, seconds=0.1) as http:
        fake.faults.inject("late", seconds=2.0)
        with pytest.raises(httpx.ReadTimeout):
            await http.post("/items", json=HELLO)
        assert not fake.accepted
        async with asyncio.timeout(60):
            await until(lambda: bool(fake.accepted))


def test_a_fault_strikes_what_it_is_meant_for() -> None:
    faults = Faults(seed=1)
    first = faults.inject("limited", "POST /items", times=2, skip=1)
    some = faults.inject("reset_before", "GET *", times=None, share=0.2)
    post, get = Request("POST", "/items"), Request("GET", "/items/7")
    assert [faults.strike(post) for _ in range(4)] == [None, first, first, None]
    struck = [faults.strike(get) for _ in range(1000)]
    assert 150 < struck.count(some) == some.fired < 250
    with pytest.raises(ValueError, match="no fault"):
        faults.inject("rest_before")  # type: ignore[arg-type]


def test_in_a_thread_and_watched_from_outside() -> None:
    with in_thread(FakePlain()) as fake:
        watcher = FakeProcess(fake.url)
        watcher.inject("error_after", "POST /items", status=500)
        assert httpx.post(f"{fake.url}/items", json=HELLO, headers=AUTH, trust_env=False).status_code == 500
        assert [item["text"] for item in watcher.accepted()] == ["Hello"]
        assert watcher.requests() == ["POST /items"]
        assert [fault["fired"] for fault in watcher.faults()] == [1]
        watcher.clear_faults()
        assert watcher.faults() == []
        with pytest.raises(HTTPError) as refused:
            watcher.inject("no such fault")  # type: ignore[arg-type]
        assert refused.value.closed
    with pytest.raises(httpx.ConnectError):
        httpx.get(fake.url, trust_env=False)


def test_as_a_process() -> None:
    with started("plain", token="plain-token") as watcher:
        made = httpx.put(f"{watcher.url}/items/7", json=HELLO, headers=AUTH, trust_env=False)
        again = httpx.put(f"{watcher.url}/items/7", json=HELLO, headers=AUTH, trust_env=False)
        assert (made.status_code, again.status_code, len(watcher.accepted())) == (201, 200, 1)


async def test_a_form_with_a_file() -> None:
    seen: list[Request] = []
    fake = FakePlain()
    async with serving(fake), client(fake) as http:
        await http.post(
            "/items", data={"note": "häuser"}, files={"file": ("ä.png", b"\x89PNG\r\n", "image/png")}
        )
        seen += fake.requests
    note, file = seen[0].parts()
    assert (note.name, note.text, note.filename) == ("note", "häuser", None)
    assert (file.name, file.filename, file.media_type, file.data) == (
        "file",
        "ä.png",
        "image/png",
        b"\x89PNG\r\n",
    )
