"""`POST /v1/messages`: commands of other systems."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path, Request
from pydantic import AfterValidator, Field

from chassis.http.api import MaySubmit, View, needs, router
from chassis.http.callers import Scope
from messaging import Database
from orchestrator.cycles import BrandLimits
from orchestrator.received_commands import store
from orchestrator.received_commands.binary_mode import as_cloud_event
from orchestrator.received_commands.receiving import CommandOutcome, CommandReceiver

MAX_MESSAGES: Final = 100
KeyId = Annotated[str, Path(pattern="^[0-9A-Za-z]{12}$", examples=["4fX0w8QbVn2L"])]
LARGER_BODIES: Final = {"/v1/messages": 2_000_000}
_EXAMPLE: Final = {
    "specversion": "1.0",
    "id": "order-4711",
    "source": "/shop",
    "type": "cycle.start",
    "time": "2026-11-21T09:30:00Z",
    "data": {"brand_slug": "daily-grind", "keywords": ["cold brew"]},
}
_AS_CLOUD_EVENTS: Final[dict[str, Any]] = {
    "requestBody": {
        "content": {
            "application/cloudevents+json": {"schema": {"type": "object"}, "example": _EXAMPLE},
            "application/cloudevents-batch+json": {
                "schema": {"type": "array", "items": {"type": "object"}},
                "example": [_EXAMPLE],
            },
        }
    }
}


def _bounded(messages: dict[str, Any] | list[Any]) -> dict[str, Any] | list[Any]:
    if isinstance(messages, list) and not 1 <= len(messages) <= MAX_MESSAGES:
        raise ValueError(f"has {len(messages):,} messages; a batch has 1 to {MAX_MESSAGES}")
    return messages


Messages = Annotated[
    dict[str, Any] | list[Any],
    AfterValidator(_bounded),
    Body(
        description=f"One message, or a list of 1 to {MAX_MESSAGES}. Each is a CloudEvent 1.0, or an envelope with `event_id`, `type`,"
        " `source`, `timestamp` and `payload`. With the headers `ce-specversion`, `ce-id`, `ce-source`, `ce-type` and `ce-time`, it is"
        " the data of one CloudEvent in the binary mode of HTTP.",
        examples=[[_EXAMPLE]],
    ),
]


class MessageResultView(View):
    """What became of one message."""

    id: Annotated[str | None, Field(examples=["order-4711"])]
    """As the message names it; null if it names none."""
    type: Annotated[str | None, Field(examples=["cycle.start"])]
    status: CommandOutcome
    """`accepted`: done, now. `duplicate`: done before. `refused`: nothing was done, and `code` and `detail` say why."""
    location: Annotated[str | None, Field(examples=["/v1/cycles/0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"])]
    """Path of what the command made or changed."""
    code: Annotated[str | None, Field(examples=["unknown_brand"])]
    detail: str | None


class MessageResults(View):
    """One result for each message, in their order."""

    results: tuple[MessageResultView, ...]


class RefusedCommandView(View):
    """A message that was refused, and why."""

    message_id: str | None
    """As the message names it; null if it names none."""
    type: str | None
    code: Annotated[str, Field(examples=["unknown_brand"])]
    detail: str
    received_at: datetime


class RefusedCommandList(View):
    items: tuple[RefusedCommandView, ...]


def command_routes(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router(tags=["commands"])
    receiver = CommandReceiver(database, limits)

    @routes.post(
        "/messages",
        summary="Send commands",
        status_code=HTTPStatus.ACCEPTED,
        openapi_extra=_AS_CLOUD_EVENTS,
    )
    async def send_commands(request: Request, caller: MaySubmit, messages: Messages) -> MessageResults:
        """Does what each message asks for, once, and stores it before the answer.

        `cycle.start`, `brand.audit` and `content.publish` take `brand_slug` and the fields of the routes that do the same. Each needs the
        scope of its route, too. A message of the same `source` and `id` does nothing again; with other data, it is refused. A
        refused message does not affect the others.
        """
        if isinstance(messages, dict):
            messages = [as_cloud_event(request.headers.raw, messages)]
        results = [await receiver.receive(caller, each) for each in messages]
        return MessageResults(results=tuple(map(MessageResultView.from_row, results)))

    @routes.get(
        "/keys/{key_id}/refused-commands",
        summary="Commands at the broker that were refused",
        dependencies=[needs(Scope.ADMIN, of_all_brands=True)],
    )
    async def list_refused_commands(key_id: KeyId) -> RefusedCommandList:
        """The last hundred messages that the key's user published and that were refused, the newest first, for eight days."""
        async with database.connection() as connection:
            found = await store.refusals_of(connection, key_id)
        return RefusedCommandList(items=tuple(map(RefusedCommandView.from_row, found)))

    return routes
