"""The operator's API to dead letters."""

import base64
import json
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, StringConstraints

from messaging import Database, ServiceKey
from monitor import operations, store
from monitor.domain import NotPossibleError, State
from monitor.store import DeadMessage

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500, pattern=r"^[^\x00]*$")
]


class DeadLetterView(BaseModel):
    """A dead letter, without its body."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    number: int
    event_id: UUID | None
    queue: str
    type: str | None
    source: str | None
    correlation_id: str | None
    reason: str
    exception_type: str | None
    detail: str
    frame: str | None
    attempts: int
    service: str | None
    first_failed_at: datetime | None
    failed_at: datetime
    recorded_at: datetime
    state: State
    replay_of: UUID | None
    replay_event_id: UUID | None
    replayed_at: datetime | None
    resolution: str | None
    resolved_at: datetime | None


class DeadLetterDetail(DeadLetterView):
    """A dead letter with body, headers and stack."""

    body: Any
    """As JSON where it parses, else as text with what is not UTF-8 replaced."""
    body_base64: str
    headers: dict[str, Any]
    stack: str | None


class DeadLetterPage(BaseModel):
    dead_letters: list[DeadLetterView]
    open: int
    """Open dead letters in all."""
    next_before: int | None
    """`before` for the next page; null on the last."""


class Group(BaseModel):
    queue: str
    type: str | None
    reason: str
    exception_type: str | None
    frame: str | None
    count: int
    first_failed_at: datetime
    last_failed_at: datetime


class Replayed(BaseModel):
    replay_event_id: UUID


class ReplayRequest(BaseModel):
    """Which open dead letters to replay; what is left out matches all."""

    model_config = ConfigDict(extra="forbid")

    ids: list[UUID] | None = None
    queue: Name | None = None
    type: Name | None = None
    limit: Annotated[int, Query(ge=1, le=1000)] = 100


class ReplayedMany(BaseModel):
    count: int
    ids: list[UUID]


class DiscardRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: Reason


def create_api(database: Database, service_key: ServiceKey) -> FastAPI:
    api = FastAPI(
        title="Brand Engine: monitor",
        description="Dead letters: what could not be handled, why, and what to do with it.",
        dependencies=[Depends(service_key)],
    )
    api.add_exception_handler(operations.UnknownDeadLetterError, _answer(404))
    api.add_exception_handler(NotPossibleError, _answer(409))
    api.add_exception_handler(RequestValidationError, _explain)
    _add_reading(api, database)
    _add_operations(api, database)
    return api


def _add_reading(api: FastAPI, database: Database) -> None:
    @api.get("/v1/dead-letters")
    async def list_dead_letters(
        state: State | None = None,
        queue: Name | None = None,
        type: Name | None = None,  # noqa: A002  (the name in the URL)
        correlation_id: Name | None = None,
        before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> DeadLetterPage:
        """Newest first."""
        async with database.connection() as connection:
            found = await store.newest(
                connection,
                state=state,
                queue=queue,
                message_type=type,
                correlation_id=correlation_id,
                before=before,
                limit=limit,
            )
            count = await store.count_open(connection)
        views = [DeadLetterView.model_validate(letter) for letter in found]
        return DeadLetterPage(
            dead_letters=views, open=count, next_before=found[-1].number if len(found) == limit else None
        )

    @api.get("/v1/dead-letters/summary")
    async def summarise() -> list[Group]:
        """Open dead letters grouped by queue, reason, exception and innermost frame."""
        async with database.connection() as connection:
            return [Group(**group) for group in await store.summary(connection)]

    @api.get("/v1/dead-letters/{identity}")
    async def get_dead_letter(identity: UUID) -> DeadLetterDetail:
        async with database.connection() as connection:
            letter = await store.get(connection, identity)
        if letter is None:
            raise HTTPException(
                404, f"there is no dead letter {identity}; list them with GET /v1/dead-letters"
            )
        return _detail(letter)


def _add_operations(api: FastAPI, database: Database) -> None:
    @api.post("/v1/dead-letters/replay", status_code=202)
    async def replay_matching(request: ReplayRequest) -> ReplayedMany:
        """Sends matching open dead letters back to their queues, oldest first."""
        ids = await operations.replay_many(
            database, ids=request.ids, queue=request.queue, message_type=request.type, limit=request.limit
        )
        return ReplayedMany(count=len(ids), ids=ids)

    @api.post("/v1/dead-letters/{identity}/replay", status_code=202)
    async def replay_dead_letter(identity: UUID) -> Replayed:
        """Sends it back to its queue as a new message. It is resolved once its consumer has handled that."""
        return Replayed(replay_event_id=await operations.replay_one(database, identity))

    @api.post("/v1/dead-letters/{identity}/discard", status_code=204)
    async def discard_dead_letter(identity: UUID, request: DiscardRequest) -> None:
        """Closes it without handling it; the reason stays on record."""
        await operations.discard(database, identity, request.reason)


def _detail(letter: DeadMessage) -> DeadLetterDetail:
    view = DeadLetterView.model_validate(letter)
    return DeadLetterDetail(
        **view.model_dump(),
        body=_readable(letter.payload),
        body_base64=base64.b64encode(letter.payload).decode(),
        headers=letter.headers,
        stack=letter.stack,
    )


def _readable(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=str)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _answer(status: int) -> Any:
    async def handle(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=status)

    return handle


async def _explain(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    sentences = [
        f"{'.'.join(str(part) for part in each['loc'][1:])}: {each['msg']}" for each in error.errors()
    ]
    return JSONResponse({"detail": "; ".join(sentences)}, status_code=422)
