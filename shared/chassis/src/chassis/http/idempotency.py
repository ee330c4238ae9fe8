"""Idempotent POSTs: a repeated request with the same `Idempotency-Key` gets the first answer and changes nothing.

The answer is stored in the transaction of the effects. If the connection or the process dies before the answer is sent, the
client repeats the request and gets it; the effects happen once.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from itertools import chain, repeat
from typing import Any, Final, Protocol, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.callers import caller_of
from chassis.http.problem_codes import (
    IDEMPOTENCY_KEY_INVALID,
    IDEMPOTENCY_KEY_NOT_TAKEN,
    IDEMPOTENCY_KEY_USED,
    REQUEST_UNDER_WAY,
    UNAVAILABLE,
)
from chassis.http.problems import MEDIA_TYPE, ProblemResponse
from chassis.http.service_key import API_PREFIX

HEADER: Final = "Idempotency-Key"
MAX_KEY: Final = 200
KEPT: Final = timedelta(hours=24)
WAIT_SECONDS: Final = 5.0
"""Maximum wait for the same request that runs elsewhere."""
_PAUSES: Final = (0.02, 0.05, 0.1, 0.2)
"""Pauses between checks; the last one repeats."""
_OF_THE_CONNECTION: Final = frozenset({b"content-length", b"date", b"connection"})

DESCRIPTION: Final = (
    f"Any 1 to {MAX_KEY} printable ASCII characters that name this request. Sent again within 24 hours, the same request is"
    " answered as it was, with `Idempotent-Replayed: true`, and does nothing again."
)


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with an idempotency key."""

    caller: str
    """Id of the caller's API key: other callers may use the same idempotency keys."""
    path: str
    key: str
    fingerprint: bytes
    """Hash of the whole request: a different request must not reuse the key."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


Kept: TypeAlias = tuple[bytes, StoredAnswer]
"""Fingerprint of a request, and its answer."""


class Attempt(Protocol):
    """The transaction of an idempotent request."""

    under_way: bool
    """The same request is running elsewhere."""
    kept: Kept | None
    """The stored answer, if there is one."""

    async def keep(self, answer: StoredAnswer) -> bool:
        """Store the answer with the effects; False if another answer exists by now, so these must be undone."""
        ...

    def undo(self) -> None:
        """Roll the transaction back."""


class AnswerStore(Protocol):
    """Stores answers together with their effects."""

    def attempt(self, asked: IdempotentRequest) -> AbstractAsyncContextManager[Attempt]:
        """Run the block in a transaction, which commits unless the block raises or undoes it."""
        ...


class _UnderWayError(Exception):
    """The same request was still running after `WAIT_SECONDS`."""


class Idempotency:
    """ASGI middleware behind the guard for requests with the header. It does not store refusals.

    Args:
        app: the wrapped application.
        answers: stores the answers.
        shown_once: route paths with secret answers, which are never stored; they take no key.
    """

    def __init__(self, app: ASGIApp, *, answers: AnswerStore, shown_once: Sequence[str] = ()) -> None:
        self._app = app
        self._answers = answers
        self._shown_once = [compile_path(path)[0] for path in shown_once]
        self._in_hand: dict[tuple[str, str, str], asyncio.Future[Kept | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = None
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(API_PREFIX):
            key = Headers(scope=scope).get(HEADER)
        # No route has a path with NUL, and PostgreSQL cannot store it: the answer is 404 with any key.
        if key is None or "\0" in scope["path"]:
            await self._app(scope, receive, send)
            return
        await (await self._answer(key, scope, receive))(scope, receive, send)

    async def _answer(self, key: str, scope: Scope, receive: Receive) -> ASGIApp:
        if not (key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_KEY):
            return ProblemResponse.coded(
                IDEMPOTENCY_KEY_INVALID,
                f"{HEADER} must be 1 to {MAX_KEY} printable ASCII characters; leave it out if you need none",
            )
        if any(path.match(scope["path"]) for path in self._shown_once):
            return ProblemResponse.coded(
                IDEMPOTENCY_KEY_NOT_TAKEN,
                f"this is answered with a secret, which is shown once and kept nowhere; leave {HEADER} out",
            )
        request = Request(scope, receive)
        body = await request.body()
        asked = IdempotentRequest(caller_of(request).key_id, scope["path"], key, _fingerprint(scope, body))
        try:
            return await self._first_or_again(asked, scope, body)
        except DatabaseUnavailableError:
            return ProblemResponse.coded(
                UNAVAILABLE,
                f"the database is away; send the same again, with the same {HEADER}, in a few seconds",
                {"Retry-After": "5"},
            )
        except _UnderWayError:
            return ProblemResponse.coded(
                REQUEST_UNDER_WAY,
                f"the same request is under way; send it again, with the same {HEADER}, to have its answer",
                {"Retry-After": "2"},
            )

    async def _first_or_again(self, asked: IdempotentRequest, scope: Scope, body: bytes) -> ASGIApp:
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        name = (asked.caller, asked.path, asked.key)
        while (first := self._in_hand.get(name)) is not None:
            # It runs in this process, so its result needs no database query.
            if (kept := await _before(until, first)) is not None:
                return _again(asked, *kept)
        kept = None
        self._in_hand[name] = first = loop.create_future()
        try:
            answer, kept = await self._once_free(asked, scope, body, until)
        finally:
            del self._in_hand[name]
            first.set_result(kept)
        return answer

    async def _once_free(
        self, asked: IdempotentRequest, scope: Scope, body: bytes, until: float
    ) -> tuple[ASGIApp, Kept | None]:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if (ended := await self._attempt(asked, scope, body)) is not None:
                return ended
            if asyncio.get_running_loop().time() > until:
                break
            # No connection to the database is held meanwhile.
            await asyncio.sleep(pause)
        raise _UnderWayError

    async def _attempt(
        self, asked: IdempotentRequest, scope: Scope, body: bytes
    ) -> tuple[ASGIApp, Kept | None] | None:
        """Return the answer and its stored form; None while the same request runs elsewhere."""
        sent = BufferedAnswer()
        async with self._answers.attempt(asked) as attempt:
            if attempt.kept is not None:
                return _again(asked, *attempt.kept), attempt.kept
            if attempt.under_way:
                return None
            await self._app(scope, _received(body), sent)
            if not sent.is_answer:
                attempt.undo()
                return sent.send_on, None
            answer = sent.answer()
            if not await attempt.keep(answer):
                attempt.undo()
                return None
        return sent.send_on, (asked.fingerprint, answer)


class BufferedAnswer:
    """An application's answer, buffered until the commit."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def is_answer(self) -> bool:
        """Whether it is not a refusal. Refusals are not stored, so the client may fix the cause and repeat the request."""
        return bool(self.messages) and self.messages[0]["status"] < HTTPStatus.BAD_REQUEST

    def answer(self) -> StoredAnswer:
        head, *parts = self.messages
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in head["headers"]
            if name.lower() not in _OF_THE_CONNECTION
        )
        return StoredAnswer(head["status"], headers, b"".join(part.get("body", b"") for part in parts))

    async def send_on(self, _: Scope, __: Receive, send: Send) -> None:
        for message in self.messages:
            await send(message)


async def _before(until: float, first: asyncio.Future[Kept | None]) -> Kept | None:
    try:
        async with asyncio.timeout_at(until):
            return await asyncio.shield(first)
    except TimeoutError:
        raise _UnderWayError from None


def _again(asked: IdempotentRequest, fingerprint: bytes, answer: StoredAnswer) -> ASGIApp:
    if fingerprint != asked.fingerprint:
        return ProblemResponse.coded(
            IDEMPOTENCY_KEY_USED,
            f"the {HEADER} '{asked.key}' was used for another request; use a new one",
        )
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    headers += [
        (b"idempotent-replayed", b"true"),
        (b"content-length", str(len(answer.body)).encode()),
    ]

    async def replay(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    return replay


def _fingerprint(scope: Scope, body: bytes) -> bytes:
    found = hashlib.sha256()
    # The guard has set the media type.
    media_type = Headers(scope=scope).get("content-type", "").encode()
    for part in (scope["method"].encode(), scope["path"].encode(), scope["query_string"], media_type, body):
        found.update(hashlib.sha256(part).digest())
    return found.digest()


def _received(body: bytes) -> Receive:
    """Return a `receive` that gives the body once, then nothing, like a client that waits for the answer."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.get_running_loop().create_future()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def describe(operation: dict[str, Any], problem: dict[str, Any]) -> None:
    """Add the header and its refusals to a POST in the OpenAPI document; `problem` is the schema of refusals."""
    operation["responses"].setdefault(
        "409",
        {
            "description": f"The same request, with the same {HEADER}, is under way; again after `Retry-After`.",
            "content": {MEDIA_TYPE: {"schema": problem}},
        },
    )
    parameters = operation.setdefault("parameters", [])
    if all(each["name"].lower() != HEADER.lower() for each in parameters):
        schema = {"type": "string", "minLength": 1, "maxLength": MAX_KEY}
        parameters.append(
            {"name": HEADER, "in": "header", "required": False, "description": DESCRIPTION, "schema": schema}
        )
