"""Asking another service over HTTP: which troubles pass and which do not, and documents that are wanted together."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import uvicorn
from pydantic import BaseModel, SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from chassis.http.client import (
    FailedError,
    GoneError,
    JsonAnswer,
    NotThereError,
    PassingError,
    Peer,
    ServiceClient,
    UnavailableError,
    Unchanged,
    UnusableAnswerError,
    retry_after,
)
from chassis.http.documents import Documents
from chassis.http.problems import ProblemResponse
from chassis.http.server import server
from chassis.testing import Direction, TcpProxy

KEY = "test-service-key-0123456789"


class Note(BaseModel):
    id: UUID
    text: str


class _List(BaseModel):
    items: tuple[Note, ...]


class Library:
    """A service with notes; `answer` replaces what it says."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self.asked: list[Request] = []
        self.answer: Callable[[Request], Response] | None = None
        self.readiness = 200
        self.url = ""

    def add(self, text: str) -> UUID:
        note = uuid4()
        self.notes[str(note)] = text
        return note

    async def ready(self, _: Request) -> Response:
        return Response(status_code=self.readiness)

    async def one(self, request: Request) -> Response:
        self.asked.append(request)
        if self.answer:
            return self.answer(request)
        note = request.path_params["note"]
        if note not in self.notes:
            return Response(status_code=404)
        etag = f'"{self.notes[note]}"'
        if request.headers.get("If-None-Match") == etag:
            return Response(status_code=304)
        return JSONResponse({"id": note, "text": self.notes[note]}, headers={"ETag": etag})

    async def several(self, request: Request) -> Response:
        self.asked.append(request)
        if self.answer:
            return self.answer(request)
        wanted = request.query_params.getlist("id")
        return JSONResponse({"items": [{"id": n, "text": self.notes[n]} for n in wanted if n in self.notes]})


@pytest.fixture
async def library() -> AsyncIterator[Library]:
    library = Library()
    health = Route("/health/ready", library.ready)
    app = Starlette(
        routes=[health, Route("/v1/note", library.several), Route("/v1/note/{note}", library.one)]
    )
    serving: uvicorn.Server = server(app, "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(60):
        while not serving.started:  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
    library.url = f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    yield library
    serving.should_exit = True
    await task


@pytest.fixture
async def client(library: Library) -> AsyncIterator[ServiceClient]:
    peer = Peer("the library", library.url, "LIBRARY_URL", SecretStr(KEY))
    async with ServiceClient(
        peer, timeout_seconds=10, max_bytes=1000, max_bytes_setting="NOTE_MAX_BYTES"
    ) as it:
        yield it


@pytest.fixture
def notes(client: ServiceClient) -> Documents[str]:
    return Documents(client, "note", read_one=_text, read_list=_texts)


def _text(_: UUID, answer: JsonAnswer) -> str:
    return Note.model_validate_json(answer.body).text


def _texts(body: bytes) -> dict[UUID, str]:
    return {note.id: note.text for note in _List.model_validate_json(body).items}


async def test_a_document_is_asked_for_with_the_key_and_uncompressed(
    library: Library, notes: Documents[str]
) -> None:
    assert await notes.get(library.add("tea")) == "tea"
    [request] = library.asked
    assert request.headers["x-service-key"] == KEY
    assert request.headers["accept-encoding"] == "identity"


async def test_what_is_known_already_is_not_sent_again(library: Library, notes: Documents[str]) -> None:
    note = library.add("tea")
    assert isinstance(await notes.get_if_changed(note, '"tea"'), Unchanged)
    assert await notes.get_if_changed(note, '"coffee"') == "tea"


async def test_what_is_wanted_at_the_same_time_is_asked_for_together(
    library: Library, notes: Documents[str]
) -> None:
    ids = [library.add(f"note {number}") for number in range(3)]
    *texts, unknown = await asyncio.gather(*map(notes.get, (*ids, uuid4())), return_exceptions=True)
    assert texts == ["note 0", "note 1", "note 2"]
    assert isinstance(unknown, NotThereError)
    assert [len(request.query_params.getlist("id")) for request in library.asked] == [4, 0]


async def test_what_keeps_several_away_names_to_each_its_own_and_no_other(
    library: Library, notes: Documents[str]
) -> None:
    def refuse(_: Request) -> Response:
        return Response(status_code=503, headers={"Retry-After": "7"})

    ids = [library.add(f"note {number}") for number in range(3)]
    library.answer = refuse
    problems = await asyncio.gather(*map(notes.get, ids), return_exceptions=True)
    assert len({id(problem) for problem in problems}) == 3
    for own, problem in zip(ids, problems, strict=True):
        assert isinstance(problem, UnavailableError)
        assert problem.after == timedelta(seconds=7)
        told = "".join(traceback.format_exception(problem))
        assert [str(each) in told for each in ids] == [each == own for each in ids]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("status", "headers", "kind", "after"),
    [
        (401, {}, UnavailableError, None),
        (403, {}, UnavailableError, None),
        (404, {}, NotThereError, None),
        (408, {}, FailedError, None),
        (424, {"Retry-After": "7"}, FailedError, timedelta(seconds=7)),
        (425, {}, FailedError, None),
        (429, {"Retry-After": "1"}, UnavailableError, timedelta(seconds=1)),
        (429, {}, UnavailableError, None),
        (500, {}, FailedError, None),
        (501, {}, FailedError, None),
        (502, {}, UnavailableError, None),
        (503, {"Retry-After": "7"}, UnavailableError, timedelta(seconds=7)),
        (504, {}, UnavailableError, None),
    ],
)
async def test_passing_troubles_name_service_path_and_wait(
    library: Library,
    notes: Documents[str],
    status: int,
    headers: dict[str, str],
    kind: type[PassingError],
    after: timedelta | None,
) -> None:
    library.answer = lambda _: Response(status_code=status, headers=headers)
    note = uuid4()
    with pytest.raises(PassingError, match=f"the library answered {status} at /v1/note/{note}") as raised:
        await notes.get(note)
    assert type(raised.value) is kind
    assert raised.value.after == after


async def test_a_refused_key_says_what_to_set(library: Library, notes: Documents[str]) -> None:
    library.answer = lambda _: Response(status_code=401)
    with pytest.raises(UnavailableError, match="the same key"):
        await notes.get(uuid4())


@pytest.mark.parametrize("status", [204, 304, 307, 400, 422])
async def test_other_answers_are_final_and_name_the_setting(
    library: Library, notes: Documents[str], status: int
) -> None:
    library.answer = lambda _: Response(
        status_code=status, headers={"Location": "http://127.0.0.1:1/elsewhere"}
    )
    with pytest.raises(UnusableAnswerError, match=f"{status} at .* check that LIBRARY_URL"):
        await notes.get(uuid4())


async def test_what_was_removed_for_good_is_told_apart(library: Library, notes: Documents[str]) -> None:
    library.answer = lambda _: Response(status_code=410)
    with pytest.raises(GoneError, match="was removed for good"):
        await notes.get(uuid4())


async def test_another_shape_is_final_and_says_where(library: Library, notes: Documents[str]) -> None:
    library.answer = lambda _: JSONResponse({"id": "x", "text": "tea"})
    with pytest.raises(UnusableAnswerError, match=r"does not follow the contract \(id: "):
        await notes.get(uuid4())


async def test_too_much_is_final_and_names_the_setting(library: Library, notes: Documents[str]) -> None:
    note = library.add("x" * 2000)
    with pytest.raises(
        UnusableAnswerError, match="larger than 1000 bytes; shorten it or raise NOTE_MAX_BYTES"
    ):
        await notes.get(note)


async def test_nobody_listening_passes(free_port: Callable[[], int]) -> None:
    peer = Peer("the library", f"http://127.0.0.1:{free_port()}", "LIBRARY_URL", SecretStr(KEY))
    async with ServiceClient(peer, timeout_seconds=60, max_bytes=1000) as client:
        with pytest.raises(
            UnavailableError,
            match=r"the library does not answer at http://.*/v1/x: nothing answers at this port$",
        ):
            await client.get("/v1/x", about="x")


@pytest.mark.parametrize(("readiness", "kind"), [(200, FailedError), (503, UnavailableError)])
async def test_no_answer_in_time_is_an_outage_only_if_the_service_is_not_ready(
    library: Library, readiness: int, kind: type[PassingError]
) -> None:
    async def dawdle() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    library.answer = lambda _: StreamingResponse(dawdle())
    library.readiness = readiness
    peer = Peer("the library", library.url, "LIBRARY_URL", SecretStr(KEY))
    async with ServiceClient(peer, timeout_seconds=1.0, max_bytes=1000) as client:
        with pytest.raises(kind, match="does not answer in time"):
            await client.get(f"/v1/note/{uuid4()}", about="x")


async def test_a_service_that_breaks_off_is_away(library: Library) -> None:
    async with TcpProxy("127.0.0.1", int(library.url.rpartition(":")[2])) as proxy:
        proxy.strike(b"GET /v1/", towards=Direction.SERVER)
        peer = Peer("the library", f"http://127.0.0.1:{proxy.port}", "LIBRARY_URL", SecretStr(KEY))
        async with ServiceClient(peer, timeout_seconds=60, max_bytes=1000) as client:
            with pytest.raises(UnavailableError, match="broke off"):
                await client.get(f"/v1/note/{library.add('tea')}", about="x")


async def test_one_document_that_the_service_fails_over_leaves_its_neighbours_alone(
    library: Library, notes: Documents[str]
) -> None:
    bad, *good = [library.add(f"note {number}") for number in range(3)]

    def fail(request: Request) -> Response:
        if str(bad) in str(request.url):
            return Response(status_code=500)
        note = request.path_params["note"]
        return JSONResponse({"id": note, "text": library.notes[note]})

    library.answer = fail
    problem, *texts = await asyncio.gather(*map(notes.get, (bad, *good)), return_exceptions=True)
    assert isinstance(problem, FailedError)
    assert texts == ["note 1", "note 2"]


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("soon", None),
        ("120", timedelta(minutes=2)),
        ("99999999999", timedelta(hours=1)),
        ("Wed, 01 Jul 2026 00:01:00 GMT", timedelta(minutes=1)),
        ("Wed, 01 Jul 2020 00:01:00 GMT", timedelta()),
        ("Wed, 01 Jul 2027 00:00:00 GMT", timedelta(hours=1)),
    ],
)
def test_retry_after_is_a_number_or_a_date_and_has_a_limit(header: str | None, wait: Any) -> None:
    assert retry_after(header, datetime(2026, 7, 1, tzinfo=UTC)) == wait


async def test_a_refusal_with_a_type_is_an_answer_whatever_its_status(
    library: Library, client: ServiceClient
) -> None:
    for status in (200, 402, 404, 424, 429, 503):
        library.answer = lambda _, status=status: JSONResponse(
            {"type": "limit.reached", "detail": "Later."}, status, {"Retry-After": "7"}
        )
        reply = await client.ask("GET", "/v1/note/5?about=tea", headers={"X-More": "yes"})
        assert (reply.status, reply.problem) == (status, "limit.reached")
        assert reply.after == timedelta(seconds=7)
        assert library.asked[-1].headers["x-more"] == "yes"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (JSONResponse({"detail": "too much is asked at once"}, 503), UnavailableError),
        (ProblemResponse(503, "too much is asked at once"), UnavailableError),
        (ProblemResponse(500, "this failed"), FailedError),
        (Response("<title>Bad gateway</title>", 502), UnavailableError),
        (Response("[1]", 429), UnavailableError),
        (JSONResponse({"type": "about:blank"}, 401), UnavailableError),
        (Response("oops", 500), FailedError),
        (Response("x" * 1001), UnusableAnswerError),
    ],
)
async def test_what_is_no_answer_to_the_question_is_told_as_ever(
    library: Library, client: ServiceClient, answer: Response, kind: type[Exception]
) -> None:
    library.answer = lambda _: answer
    with pytest.raises(kind) as raised:
        await client.ask("GET", "/v1/note/5")
    assert type(raised.value) is kind
