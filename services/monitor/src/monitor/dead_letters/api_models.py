"""Requests and answers of the HTTP API for dead letters."""

import base64
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)
from pydantic_core import from_json

from chassis.http.api import Moment, View
from chassis.http.callers import SERVICE, Caller
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from envelope import MICROS, ChainLimits
from envelope.brand import CATALOGUE
from messaging.topology import work_queues
from monitor.dead_letters.decision_store import OperatorDecision
from monitor.dead_letters.domain import DeadLetterState, OperationVerb
from monitor.dead_letters.filtering import DeadLetterFilter
from monitor.dead_letters.masking import mask, mask_text

MAX_BULK: Final = 500
_QUEUES: Final = frozenset(work_queues(CATALOGUE))
MESSAGE_ID: Final = "Id of the dead letter, of its message or of its replay."
ERROR: Final = "Part of the exception's type, of the error's text or of the stack frame; upper and lower case are the same."
PAYLOAD: Final = "Part of the body as it is shown, with the upper and lower case that it has there; what is hidden is not searched."
CODE: Final = "Only those that failed in this code: `code` of a dead letter or of the summary."
FAILED_SINCE: Final = "Only those whose last attempt failed at this time or later."
FAILED_BEFORE: Final = "Only those whose last attempt failed before this time."


def _storable(value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain U+0000 or half of a surrogate pair")
    return value


StoredText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_storable)]
Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(_storable)
]


AttemptCount = Annotated[int, Field(ge=0, le=2**31 - 1)]


class DeadLetterView(View):
    """A dead letter, without its body. All times are UTC."""

    id: UUID = Field(description="Id of the dead letter; the other routes take it.")
    event_id: UUID | None = Field(description="The message's own id; null if its body is not an envelope.")
    queue: str = Field(description="The queue in which it died.")
    type: str | None
    source: str | None
    correlation_id: str | None
    reason: str
    exception_type: str | None
    detail: str
    frame: str | None = Field(description="Innermost frame of the stack: where it failed.")
    attempts: int
    service: str | None = Field(description="The service whose handler failed.")
    code: str | None = Field(
        description="Hash of the service's source when it failed. The service's `GET /v1/backbone` has the present one. Null if unknown."
    )
    version: str | None = Field(description="Version of the service when it failed.")
    first_failed_at: datetime | None
    failed_at: datetime
    recorded_at: datetime
    replayable: bool = Field(description="Whether it can be sent again: its body is an envelope.")
    state: DeadLetterState
    replayed_at: datetime | None
    replay_event_id: UUID | None = Field(description="`event_id` of its replay.")
    replay_of: UUID | None = Field(description="The earlier dead letter, if this one was its replay.")
    replaced_by: UUID | None = Field(description="The dead letter of its own replay, if that died too.")
    resolution: str | None
    resolved_at: datetime | None
    redirected_from: str | None = Field(
        description="Queue in which it died, if that is gone and its replay went to `queue`."
    )
    restored_at: datetime | None = Field(description="When it was last opened again after a discard.")
    restored_by: str | None = Field(description="The name given with that; it is not verified.")
    restored_why: str | None
    decided_by: str | None = Field(
        description="The name given with the replay or discard, which is not verified, or that of the key."
    )
    decided_why: str | None
    group: str = Field(
        description="Id of its failure group: dead letters with the same queue, reason, exception type and stack frame."
    )


class DeadLetterEditView(View):
    """What a person has made of a dead letter. Its consumer takes the edited message only, and never the original."""

    event_id: UUID = Field(description="`event_id` of the edited message.")
    edited_at: datetime
    edited_by: str = Field(description="The name given with the edit; it is not verified.")
    reason: str | None
    payload: JsonValue = Field(description="The edited payload, with the same `***` as the message.")
    payload_hidden: list[str] = Field(description="Where something is hidden, such as `payload.comment`.")


class FullDeadLetterView(DeadLetterView):
    edit: DeadLetterEditView | None = Field(description="Null: nobody has edited it.")
    is_edited: bool = Field(description="Whether it is the edited form of an earlier dead letter.")
    stack: str | None
    headers: dict[str, JsonValue]
    payload: JsonValue = Field(
        description="The body as JSON; null if it is not JSON. `***` stands for what may be secret or a person's."
    )
    payload_text: str | None = Field(
        description="The body as text if it is not JSON, with the same `***`; U+FFFD replaces invalid bytes."
    )
    payload_base64: str | None = Field(
        description="The bytes of the body if it is not JSON; null unless it is shown in full."
    )
    redirectable_to: str | None = Field(
        description="Its queue is gone: the one that a replay may name as `redirect_to`. Null if its queue is there, or no service handles its type."
    )
    payload_hidden: list[str] = Field(description="Where something is hidden, such as `payload.comment`.")
    payload_bytes: int = Field(description="Size of the whole body in bytes.")
    payload_truncated: bool = Field(description="Whether the answer holds only the beginning of the body.")

    @classmethod
    def of(cls, row: Mapping[str, Any], *, in_full: bool = False) -> Self:
        """Returns the answer; unless it is shown `in_full`, what may be secret or a person's is hidden."""
        body: bytes = row["payload"]
        truncated = row["payload_bytes"] > len(body)
        parsed, readable = _parse(body)
        text = None if readable else body.decode(errors="replace")
        hidden: list[str] = []
        if not in_full and text is None:
            masked = mask(parsed)
            parsed, hidden = masked.value, masked.paths
        elif not in_full and text is not None:
            shown = mask_text(text)
            text, hidden = shown, ["text"] if shown != text else []
        return cls.model_validate(
            {
                **row,
                "payload": parsed,
                "payload_text": text,
                "payload_base64": base64.b64encode(body).decode() if in_full and not readable else None,
                "payload_hidden": hidden,
                "payload_truncated": truncated,
                "redirectable_to": _redirectable_to(row["queue"], row["type"]),
                "edit": _edit_of(row, in_full=in_full),
            }
        )


def _redirectable_to(queue: str, message_type: str | None) -> str | None:
    if CATALOGUE.name_today(queue) in _QUEUES or (entry := CATALOGUE.get(message_type or "")) is None:
        return None
    return entry.queue


def _edit_of(row: Mapping[str, Any], *, in_full: bool) -> DeadLetterEditView | None:
    if row["edited_event_id"] is None:
        return None
    content = from_json(row["edited_content"])
    masked = mask({"payload": content})
    return DeadLetterEditView(
        event_id=row["edited_event_id"],
        edited_at=row["edited_at"],
        edited_by=row["edited_by"],
        reason=row["edited_why"] or None,
        payload=content if in_full else masked.value["payload"],
        payload_hidden=[] if in_full else masked.paths,
    )


class DeadLetterPage(View):
    items: list[DeadLetterView]
    next: UUID | None = Field(description="Send it as `after` to get the next page; null on the last one.")
    matching: int = Field(description="Number of matches on all pages.")
    open: int = Field(description="Number of open dead letters, without regard to the filters.")
    now: datetime = Field(description="The time of this page; bulk replay takes it as `until`.")


class FailedCode(View):
    """The code of a service in which dead letters failed."""

    service: str | None
    code: str
    version: str | None
    count: int


class FailureGroup(View):
    """Dead letters with the same queue, reason, exception type and stack frame."""

    group: str = Field(description="Id of the group; filters, bulk replay and bulk discard take it.")
    queue: str
    reason: str
    exception_type: str | None
    frame: str | None
    count: int
    types: list[str]
    codes: list[FailedCode] = Field(
        description="The code in which they failed, that of most first; those of unknown code are left out."
    )
    first_failed_at: datetime
    last_failed_at: datetime
    newest_id: UUID
    newest_detail: str


class DeadLetterSummary(View):
    groups: list[FailureGroup] = Field(description="The largest first.")


def named(by: str | None, caller: Caller) -> str | None:
    """Who decides: the name that was given, or that of the key; None for another service that gives none."""
    return by or (None if caller == SERVICE else caller.name)


class _Decision(BaseModel):
    model_config = ConfigDict(extra="forbid")

    by: StoredText | None = Field(
        default=None,
        description="Your name; stored with the dead letter and not verified. The default is that of the key.",
    )

    def decision(self, why: str | None, caller: Caller) -> OperatorDecision:
        return OperatorDecision(named(self.by, caller), why)


class ReplayRequest(_Decision):
    reason: Reason | None = Field(default=None, description="Why you replay it; stored with the dead letter.")
    deadline: Moment | None = Field(
        default=None,
        description="New deadline of its chain, in the future. One that died with the reason `deadline_passed` needs it.",
    )
    max_cost: Annotated[float, Field(ge=0.01, le=1_000_000)] | None = Field(
        default=None,
        description="US dollars that its chain may cost from now on, spent ones included."
        " One that died with the reason `cost_reached` needs it.",
    )

    redirect_to: StoredText | None = Field(
        default=None,
        description="Queue that gets it instead of its own, which must be gone; the queue from which its type is handled now.",
    )

    def limits(self) -> ChainLimits:
        """The new limits.

        Raises:
            RefusalError: the deadline has passed.
        """
        if self.deadline is not None and self.deadline <= datetime.now(UTC):
            raise RefusalError(
                INVALID_REQUEST,
                f"deadline: {self.deadline.isoformat()} has passed; name a time in the future",
            )
        return ChainLimits(self.deadline, None if self.max_cost is None else round(self.max_cost * MICROS))


class StopRequest(_Decision):
    pass


class DiscardRequest(_Decision):
    reason: Reason = Field(description="Why it needs no handling; stored as its resolution.")


class RestoreRequest(_Decision):
    reason: Reason = Field(description="Why it is to be decided about again; stored with the dead letter.")


class BulkSelection(BaseModel):
    """Which dead letters an operator means."""

    model_config = ConfigDict(extra="forbid")

    queue: StoredText | None = None
    type: StoredText | None = None
    group: StoredText | None = Field(
        default=None, description="Only this failure group: `group` of the summary."
    )
    code: StoredText | None = Field(default=None, description=CODE)
    correlation_id: StoredText | None = None
    message_id: UUID | None = Field(default=None, description=MESSAGE_ID)
    error: StoredText | None = Field(default=None, description=ERROR)
    payload: StoredText | None = Field(default=None, description=PAYLOAD)
    min_attempts: AttemptCount | None = None
    max_attempts: AttemptCount | None = None
    failed_since: Moment | None = Field(default=None, description=FAILED_SINCE)
    failed_before: Moment | None = Field(default=None, description=FAILED_BEFORE)
    until: Moment | None = Field(
        default=None,
        description="Only dead letters that were recorded, or discarded, up to this time, such as `now` of a page.",
    )

    def to_filter(self, brands: Collection[str] | None) -> DeadLetterFilter:
        """The filter; `brands` are those that the caller may see."""
        # Callers may give a former name of a queue, or that of its dead-letter queue.
        queue = None if self.queue is None else CATALOGUE.name_today(self.queue.removesuffix("-dlq"))
        return DeadLetterFilter(
            queue=queue,
            type=self.type,
            correlation_id=self.correlation_id,
            group=self.group,
            code=self.code,
            brands=brands,
            message_id=self.message_id,
            error=self.error,
            payload=self.payload,
            min_attempts=self.min_attempts,
            max_attempts=self.max_attempts,
            failed_since=self.failed_since,
            failed_before=self.failed_before,
        )


class _Bulk(BulkSelection):
    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_BULK)] | None = None
    after: UUID | None = Field(
        default=None, description="`next` of the previous answer; the request continues there."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_BULK)] = 100


class BulkReplayRequest(_Bulk, ReplayRequest):
    pass


class BulkDiscardRequest(_Bulk, DiscardRequest):
    pass


class BulkRestoreRequest(_Bulk, RestoreRequest):
    pass


class OperationRequest(BulkSelection, _Decision):
    verb: OperationVerb
    reason: Reason | None = Field(
        default=None, description="Why; stored with each dead letter. A replay needs none."
    )

    @model_validator(mode="after")
    def _has_reason(self) -> Self:
        if self.reason is None and self.verb is not OperationVerb.REPLAY:
            raise ValueError(f"reason: say why, to {self.verb.value} dead letters")
        return self


class OutcomesRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_BULK)]


class DeadLetterOutcome(View):
    id: UUID
    state: DeadLetterState
    resolution: str | None
    replaced_by: UUID | None


class DeadLetterOutcomes(View):
    outcomes: list[DeadLetterOutcome] = Field(description="One for each known id; unknown ids are left out.")


class ReplayStarted(View):
    id: UUID
    replay_event_id: UUID


class BulkReplayStarted(View):
    replayed: int
    replays: list[ReplayStarted]
    next: UUID | None = Field(description="Send it as `after` to go on; null if there are no more.")


class BulkDiscarded(View):
    discarded: int
    ids: list[UUID]
    next: UUID | None = Field(description="Send it as `after` to go on; null if there are no more.")


class BulkRestored(View):
    restored: int
    resolved: int = Field(description="How many of them are resolved, because their work was done since.")
    ids: list[UUID]
    next: UUID | None = Field(description="Send it as `after` to go on; null if there are no more.")


def _parse(body: bytes) -> tuple[Any, bool]:
    """The JSON value of the body, and whether the body is JSON."""
    try:
        return from_json(body, allow_inf_nan=False), True
    except ValueError:
        return None, False
