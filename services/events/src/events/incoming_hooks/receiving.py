"""`POST /v1/hooks/{brand}.{name}`: takes what other systems send, without an API key.

A request is checked, stored and answered; it calls no other service. What senders prove, by a signature or by the secret in
the address, opens one hook of one brand.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.bodies import TooManyValuesError, ValueCounter
from chassis.http.conventions.bodies import duplicate_member
from chassis.http.problem_codes import (
    BODY_TOO_LARGE,
    METHOD_NOT_ALLOWED,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    RefusalError,
)
from chassis.http.problems import ProblemResponse
from events import problem_codes as codes
from events.incoming_hooks import store
from events.incoming_hooks.definition import HookKind, MissingValueError, command_data, is_wanted
from events.incoming_hooks.metrics import CountRefusal, uncounted
from events.incoming_hooks.signatures import (
    SignatureError,
    StaleError,
    check_github,
    check_path,
    check_standard,
)
from events.incoming_hooks.store import ArrivalState, Hook
from messaging import Database

log = structlog.get_logger(__name__)

PREFIX: Final = "/v1/hooks/"
MAX_BYTES: Final = 512_000
MAX_VALUES: Final = 10_000
PER_MINUTE: Final = 120
"""Requests of a hook that prove who sent them; each replica counts for itself."""
REFUSALS_PER_MINUTE: Final = 20
"""Refusals of a hook that are stored. Further ones are answered the same."""
_PATH: Final = re.compile(
    r"(?P<brand>[a-z0-9]+(?:-[a-z0-9]+)*)\.(?P<name>[a-z0-9][a-z0-9-]{0,62})(?:/(?P<secret>[A-Za-z0-9_-]{1,100}))?"
)
_MOST_COUNTED: Final = 10_000


class MinuteCounter:
    """Counts by hook, and begins anew each minute.

    Args:
        most: counts in a minute.
        clock: monotonic seconds.
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._counts: dict[UUID, int] = {}
        self._ends = 0.0

    def take(self, hook_id: UUID) -> int:
        """Counts one; returns 0, or the seconds until there is room again."""
        now = self._clock()
        if now >= self._ends or len(self._counts) >= _MOST_COUNTED:
            self._counts.clear()
            self._ends = now + 60
        count = self._counts[hook_id] = self._counts.get(hook_id, 0) + 1
        return 0 if count <= self._most else max(1, round(self._ends - now))


class IncomingHooks:
    """ASGI middleware around the API: answers what is under `/v1/hooks/`, and passes all else on."""

    def __init__(self, app: ASGIApp, *, database: Database, count_refusal: CountRefusal = uncounted) -> None:
        self._app = app
        self._database = database
        self._count_refusal = count_refusal
        self._taken = MinuteCounter(PER_MINUTE)
        self._noted = MinuteCounter(REFUSALS_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            response = await self._answer(Request(scope, receive), scope["path"].removeprefix(PREFIX))
        except RefusalError as error:
            self._count_refusal(error.code.code)
            response = ProblemResponse.of(error)
        except DatabaseUnavailableError:
            response = ProblemResponse.coded(
                UNAVAILABLE, "the database is away; send it again in a few seconds", {"Retry-After": "5"}
            )
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        if request.method != "POST":
            raise RefusalError(METHOD_NOT_ALLOWED, "an incoming webhook takes POST", {"Allow": "POST"})
        matched = _PATH.fullmatch(path)
        hook = None
        if matched is not None:
            async with self._database.connection() as connection:
                hook = await store.find(connection, matched["brand"], matched["name"])
        if hook is None or matched is None:
            raise RefusalError(codes.UNKNOWN_HOOK, "there is no incoming webhook at this address")
        try:
            return await self._take(hook, request, matched["secret"])
        except RefusalError as error:
            await self._note(hook, error)
            raise

    async def _note(self, hook: Hook, error: RefusalError) -> None:
        if self._noted.take(hook.hook_id):
            return
        log.info("hook_refused", hook=f"{hook.brand}.{hook.name}", code=error.code.code)
        async with self._database.transaction() as tx:
            await store.insert_refusal(tx.connection, hook.hook_id, error.code.code, error.detail)

    async def _take(self, hook: Hook, request: Request, secret: str | None) -> Response:
        if hook.kind is HookKind.PATH:
            # Before the body, which need not be read then.
            with _proven():
                check_path(hook.secrets, secret or "")
        elif secret is not None:
            raise RefusalError(
                codes.SIGNATURE_INVALID, "this hook takes signed requests, and no secret in its address"
            )
        if not _says_json(request):
            raise RefusalError(
                UNSUPPORTED_MEDIA_TYPE,
                "an incoming webhook takes JSON: send 'Content-Type: application/json'",
            )
        body = await _read(request)
        sender_id = _sender_of(hook, request.headers, body)
        if wait := self._taken.take(hook.hook_id):
            raise RefusalError(
                TOO_MANY_REQUESTS,
                f"an incoming webhook takes {PER_MINUTE} requests a minute; again in {wait} seconds",
                {"Retry-After": str(wait)},
            )
        document = await asyncio.to_thread(_document, body)
        event = request.headers.get("x-github-event")
        data = None
        if is_wanted(hook.definition, document, event):
            try:
                data = command_data(hook.definition, hook.brand, document)
            except MissingValueError as error:
                raise RefusalError(codes.BODY_NOT_MAPPED, str(error)) from error
        # GitHub signs the body alone, so that a recorded body could come again under another id.
        digest = hashlib.sha256(body).digest() if hook.kind is HookKind.GITHUB else None
        arrival_id, status = await self._store(hook, sender_id, digest, data)
        return JSONResponse({"id": str(arrival_id), "status": status}, HTTPStatus.ACCEPTED)

    async def _store(
        self, hook: Hook, sender_id: str, digest: bytes | None, data: dict[str, Any] | None
    ) -> tuple[UUID, str]:
        state = ArrivalState.IGNORED if data is None else ArrivalState.WAITING
        async with self._database.transaction() as tx:
            if await store.find(tx.connection, hook.brand, hook.name) is None:
                raise RefusalError(codes.UNKNOWN_HOOK, "there is no incoming webhook at this address")
            if digest is not None:
                await store.lock_bodies(tx.connection, hook.hook_id)
            same = await store.find_same(tx.connection, hook.hook_id, sender_id, digest)
            if same is None:
                stored = await store.insert_arrival(
                    tx.connection, hook.hook_id, sender_id, digest, state, data
                )
                if stored is not None:
                    return stored, "ignored" if data is None else "accepted"
                # The same came at the same moment, and is stored by now.
                same = await store.find_same(tx.connection, hook.hook_id, sender_id, digest)
            assert same is not None
            return same, "duplicate"


class _proven:  # noqa: N801  (used like a function)
    """Turns what a sender failed to prove into a refusal. Not 401: senders of many people share addresses, which that would slow."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, StaleError):
            raise RefusalError(codes.HOOK_STALE, str(error)) from error
        if isinstance(error, SignatureError):
            raise RefusalError(codes.SIGNATURE_INVALID, str(error)) from error


def _sender_of(hook: Hook, headers: Mapping[str, str], body: bytes) -> str:
    """The sender's id of what it sent, once it has proven who it is."""
    given = {name.lower(): value for name, value in headers.items()}
    with _proven():
        match hook.kind:
            case HookKind.STANDARD:
                return check_standard(hook.secrets, given, body, datetime.now(UTC))
            case HookKind.GITHUB:
                return check_github(hook.secrets, given, body)
            case HookKind.PATH:
                pass
    named = given.get("webhook-id") or given.get("x-github-delivery") or ""
    if 0 < len(named) <= 200 and named.isascii() and named.isprintable():  # noqa: PLR2004  (as of signed ones)
        return named
    return f"body {hashlib.sha256(body).hexdigest()}"


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise RefusalError(
                BODY_TOO_LARGE, f"the body is larger than {MAX_BYTES // 1000} kB", {"Connection": "close"}
            )
    return bytes(body)


def _document(body: bytes) -> Any:
    try:
        ValueCounter(MAX_VALUES).feed(body)
        # This parser bounds the depth of nesting.
        document = from_json(body, allow_inf_nan=False)
    except TooManyValuesError:
        raise RefusalError(
            codes.BODY_NOT_MAPPED, f"the body has more than {MAX_VALUES:,} fields and entries"
        ) from None
    except ValueError as error:
        raise RefusalError(codes.BODY_NOT_MAPPED, f"the body is not valid JSON: {error}") from error
    if (twice := duplicate_member(body)) is not None:
        raise RefusalError(
            codes.BODY_NOT_MAPPED, f"the body has the member '{twice[:80]}' twice in one object"
        )
    return document
