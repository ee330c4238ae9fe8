"""`/v1/messages/{message_id}/edit`, by which an operator edits a dead letter of the service; part of `message_routes`.

The application needs `EDIT_BODIES` as `larger_bodies`, and the codes of `messaging.problem_codes`.
"""

from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from chassis.http.api import UNKNOWN, Moment, View, needs, refusal
from chassis.http.callers import Caller, Scope
from chassis.http.problem_codes import RefusalError
from envelope import MICROS, ChainLimits
from messaging import headers as header
from messaging import problem_codes as codes
from messaging.flow.edit_checks import EditError, fixed_fields, payload_schema
from messaging.flow.edits import (
    DeadLetterEdit,
    EditRefusal,
    EditRefusalKind,
    edit_dead_letter,
    find_edit,
    queue_of_type,
)
from messaging.flow.transactions import Database

EDIT_PATH: Final = "/v1/messages/{message_id}/edit"
EDIT_BODIES: Final = {EDIT_PATH: 320_000}
"""A message and its edited payload, with room for how JSON writes them."""
_CONFLICT: Final = refusal(HTTPStatus.CONFLICT, "It was edited or replayed already.")
_OPERATOR: Final = needs(Scope.OPERATE, of_all_brands=True)
"""As for a replay. Without the scope `repair`, nobody has the original of a message of which something is hidden; and a message need not
name its brand."""
_CODES: Final = {
    EditRefusalKind.UNKNOWN: codes.UNKNOWN_MESSAGE,
    EditRefusalKind.EDITED: codes.MESSAGE_EDITED,
    EditRefusalKind.REPLAYED: codes.MESSAGE_REPLAYED,
    EditRefusalKind.UNSUITABLE: codes.MESSAGE_NOT_EDITABLE,
}


def _storable(value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain U+0000 or half of a surrogate pair")
    return value


_Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(_storable)
]
_TraceText = Annotated[str, StringConstraints(max_length=8192), AfterValidator(_storable)]


class MessageTrace(BaseModel):
    """Headers of the dead message, so that the edited one continues its trace."""

    model_config = ConfigDict(extra="forbid")

    traceparent: _TraceText | None = None
    tracestate: _TraceText | None = None
    baggage: _TraceText | None = None


class EditMessageRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    original: dict[str, JsonValue] = Field(
        description="The whole message as it died, with nothing hidden: the service knows it by its digest."
    )
    payload: dict[str, JsonValue] = Field(
        description="The edited payload. Ids, the brand, and fields that the type does not know stay as they were."
    )
    deadline: Moment | None = Field(
        default=None,
        description="New deadline of its chain, in the future; one whose deadline has passed needs it.",
    )
    max_cost: Annotated[float, Field(ge=0.01, le=1_000_000)] | None = Field(
        default=None, description="US dollars that its chain may cost from now on, spent ones included."
    )
    trace: MessageTrace | None = None
    by: _Text | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )
    reason: _Text | None = Field(default=None, description="Why; stored with the dead letter.")


class EditState(StrEnum):
    """Whether the service would take an edit of a message."""

    EDITABLE = "editable"
    EDITED = "edited"
    REPLAYED = "replayed"
    UNKNOWN = "unknown"
    """It has no record of it by this id; if it has one of the same content, an edit is taken all the same."""


class EditFormView(View):
    """What a form needs to edit a dead letter of a type."""

    type: Annotated[str, Field(examples=["content.publish"])]
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    payload_schema: dict[str, JsonValue]
    """JSON Schema of the payload, as the running version of the service reads it."""
    fixed: list[str]
    """Fields of the payload that an edit may not change: ids, and what the message is about."""
    state: EditState
    edited_by: str | None
    edited_at: datetime | None
    settled_by: UUID | None
    """The edited message, or the replay that was handled."""


class EditedMessageView(View):
    """The message that goes out in place of the dead letter; the original never will."""

    message_id: UUID
    """`event_id` of the dead message."""
    edited_message_id: UUID
    """`event_id` of the edited one."""
    queue: str
    edited_at: datetime


def add_edit_routes(routes: APIRouter, database: Database) -> None:
    """Adds the routes to those under `/v1/messages`."""

    @routes.get(
        "/{message_id}/edit",
        summary="What a form needs to edit a dead letter",
        dependencies=[_OPERATOR],
        responses=UNKNOWN,
    )
    async def get_message_edit(
        message_id: UUID,
        type: Annotated[str, Query(description="Message type.", max_length=500)],  # noqa: A002 - the wire name
    ) -> EditFormView:
        """Returns the schema of the type's payload, and whether the dead letter was edited or replayed already."""
        entry = queue_of_type(database.catalogue, database.service, type)
        if isinstance(entry, EditRefusal):
            raise _refused(entry)
        origin = await find_edit(database, message_id)
        schema = payload_schema(entry)
        if origin is None:
            state = EditState.UNKNOWN
        elif origin.edit is not None:
            state = EditState.EDITED
        else:
            state = EditState.EDITABLE if origin.settled_by is None else EditState.REPLAYED
        edit = origin.edit if origin else None
        return EditFormView(
            type=entry.name,
            queue=entry.queue,
            payload_schema=schema,
            fixed=fixed_fields(schema, database.catalogue.identity),
            state=state,
            edited_by=edit.by if edit else None,
            edited_at=edit.at if edit else None,
            settled_by=origin.settled_by if origin else None,
        )

    @routes.post(
        "/{message_id}/edit",
        status_code=HTTPStatus.ACCEPTED,
        summary="Send a dead letter edited, in place of the original",
        responses={**UNKNOWN, **_CONFLICT},
    )
    async def edit_message(
        message_id: UUID, caller: Annotated[Caller, _OPERATOR], request: EditMessageRequest
    ) -> EditedMessageView:
        """Sends the message with the edited payload, under a new id, to the queue in which it died; only once.

        From then on, the service takes no replay of the original. The dead letter is resolved when the edited message is handled.
        """
        trace = request.trace.model_dump(exclude_none=True) if request.trace else {}
        edit = DeadLetterEdit(
            message_id,
            request.original,
            request.payload,
            by=request.by or caller.name,
            reason=request.reason or "",
            limits=ChainLimits(
                request.deadline, None if request.max_cost is None else round(request.max_cost * MICROS)
            ),
            trace={name: value for name, value in trace.items() if name in _TRACE},
        )
        result = await edit_dead_letter(database, edit)
        if isinstance(result, EditRefusal):
            raise _refused(result)
        if isinstance(result, list):
            raise RequestValidationError([_as_problem(each) for each in result])
        return EditedMessageView(
            message_id=message_id,
            edited_message_id=result.event_id,
            queue=result.queue,
            edited_at=result.edited_at,
        )


_TRACE: Final = frozenset({header.TRACEPARENT, header.TRACESTATE, header.BAGGAGE})


def _refused(refusal_: EditRefusal) -> RefusalError:
    return RefusalError(_CODES[refusal_.kind], refusal_.detail)


def _as_problem(error: EditError) -> dict[str, Any]:
    return {
        "type": error.kind,
        "loc": ("body", "payload", *error.place),
        "msg": error.detail,
        "ctx": error.context,
    }
