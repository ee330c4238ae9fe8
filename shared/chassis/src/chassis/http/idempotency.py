"""A POST that is sent again with its `Idempotency-Key` is answered as it was, and does nothing again.

The answer is kept in the transaction of the effects. So whoever hears none, because the connection or the process has died
before it was sent, sends the same again and has it, and whatever the first one did was done once.
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
"""For the same request that is under way elsewhere."""
_PAUSES: Final = (0.02, 0.05, 0.1, 0.2)
"""Between looks; the last one again and again."""
_OF_THE_CONNECTION: Final = frozenset({b"content-length", b"date", b"connection"})

DESCRIPTION: Final = (
    f"Any 1 to {MAX_KEY} printable ASCII characters that name this request. Sent again within 24 hours, the same request is"
    " answered as it was, with `Idempotent-Replayed: true`, and does nothing again."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that has a name."""

    caller: str
    """Id of the caller's key: others may choose the same names."""
    path: str
    key: str
    fingerprint: bytes
    """Of all that is asked: another request must not take the name."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


Kept: TypeAlias = tuple[bytes, Answer]
"""What was answered, behind the fingerprint of what was asked."""


class Attempt(Protocol):
    """A transaction that all that is done for the request takes part in."""

    under_way: bool
    """The same is being done by somebody else, who has not ended yet."""
    kept: Kept | None
    """What was answered before."""

    async def keep(self, answer: Answer) -> bool:
        """Has the answer committed with the effects; False if there is another by now, and these must not be."""
        ...

    def undo(self) -> None:
        """Has nothing of it committed."""


class Answers(Protocol):
    """Where answers are kept, and effects."""

    def attempt(self, asked: Asked) -> AbstractAsyncContextManager[Attempt]:
        """Commits when the block ends, unless by an exception or undone."""
        ...


class _UnderWayError(Exception):
    """The same request has been under way for as long as is waited."""


class Idempotency:
    """ASGI middleware behind the guard, for requests that have the header; refusals are no answers, and not kept.

    Args:
        app: what it stands before.
        answers: where they are kept.
        shown_once: paths as routes have them, whose answers are kept nowhere, so that they take no key.
    """

    def __init__(self, app: ASGIApp, *, answers: Answers, shown_once: Sequence[str] = ()) -> None:
        self._app = app
        self._answers = answers
        self._shown_once = [compile_path(path)[0] for path in shown_once]
        self._in_hand: dict[tuple[str, str, str], asyncio.Future[Kept | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = None
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(API_PREFIX):
            key = Headers(scope=scope).get(HEADER)
        # No route has such a path, and no database keeps it: whatever the key, the answer is that there is nothing.
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
        asked = Asked(caller_of(request).key_id, scope["path"], key, _fingerprint(scope, body))
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

    async def _first_or_again(self, asked: Asked, scope: Scope, body: bytes) -> ASGIApp:
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        name = (asked.caller, asked.path, asked.key)
        while (first := self._in_hand.get(name)) is not None:
            # One of this very process: what it ends with is known without asking the database.
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
        self, asked: Asked, scope: Scope, body: bytes, until: float
    ) -> tuple[ASGIApp, Kept | None]:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if (ended := await self._attempt(asked, scope, body)) is not None:
                return ended
            if asyncio.get_running_loop().time() > until:
                break
            # No connection to the database is held meanwhile.
            await asyncio.sleep(pause)
        raise _UnderWayError

    async def _attempt(self, asked: Asked, scope: Scope, body: bytes) -> tuple[ASGIApp, Kept | None] | None:
        """The answer, and what is kept of it; None while somebody else is at it."""
        sent = HeldAnswer()
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


class HeldAnswer:
    """What an application has answered; held back until it is committed."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def is_answer(self) -> bool:
        """And no refusal, of which nothing is kept: what was wrong may be mended, and the same be sent again."""
        return bool(self.messages) and self.messages[0]["status"] < HTTPStatus.BAD_REQUEST

    def answer(self) -> Answer:
        head, *parts = self.messages
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in head["headers"]
            if name.lower() not in _OF_THE_CONNECTION
        )
        return Answer(head["status"], headers, b"".join(part.get("body", b"") for part in parts))

    async def send_on(self, _: Scope, __: Receive, send: Send) -> None:
        for message in self.messages:
            await send(message)


async def _before(until: float, first: asyncio.Future[Kept | None]) -> Kept | None:
    try:
        async with asyncio.timeout_at(until):
            return await asyncio.shield(first)
    except TimeoutError:
        raise _UnderWayError from None


def _again(asked: Asked, fingerprint: bytes, answer: Answer) -> ASGIApp:
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
    # The guard has seen to it that the type says how the body is read.
    media_type = Headers(scope=scope).get("content-type", "").encode()
    for part in (scope["method"].encode(), scope["path"].encode(), scope["query_string"], media_type, body):
        found.update(hashlib.sha256(part).digest())
    return found.digest()


def _received(body: bytes) -> Receive:
    """The body again; then nothing more, as from a client who waits for the answer."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.get_running_loop().create_future()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def describe(operation: dict[str, Any], problem: dict[str, Any]) -> None:
    """Has the OpenAPI document tell of it at a POST; `problem` is the schema of refusals."""
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
