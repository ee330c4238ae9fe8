"""`/dead-letters/{id}/edit`: a form from the message's schema, which its service takes in place of the original."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from client.message_services import MESSAGE_SERVICES
from console.dead_letters.acting import limits_of
from console.dead_letters.edit_form import (
    EditField,
    fields_in,
    fields_of,
    problems_by_field,
    read_typed,
    with_typed,
)
from console.pages import Form, FormData, PageViewer, Viewer, once, page, redirect
from console.service_clients import is_away, sentence_of

LETTER: Final = "/dead-letters/{dead_letter_id}"
_TRACE: Final = ("traceparent", "tracestate", "baggage")
_LONGEST_HEADER: Final = 8192


class UnreadableEditError(Exception):
    """What was typed cannot be read: label of a field → why."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


class NotEditableError(Exception):
    """The state of the dead letter, or its body, does not allow an edit."""


def consumer_of(letter: Mapping[str, Any]) -> str | None:
    """The service whose dead letter it is; None if nobody can edit it."""
    service = letter["queue"].rpartition("-")[0]
    envelope = letter["payload"]
    is_message = isinstance(envelope, Mapping) and isinstance(envelope.get("payload"), Mapping)
    return (
        service
        if service in MESSAGE_SERVICES and is_message and letter["event_id"] and letter["type"]
        else None
    )


def may_edit(viewer: PageViewer) -> bool:
    """Whether the person may edit dead letters; a person who is bound to brands may not, as messages need not name one."""
    return viewer.may(Scope.OPERATE) and viewer.person.brands is None


@dataclass(frozen=True, slots=True)
class Problems:
    """What is wrong with a form that was sent."""

    by_field: Mapping[str, str]
    others: tuple[str, ...] = ()
    status: int = HTTPStatus.UNPROCESSABLE_ENTITY


_NONE: Final = Problems({}, (), HTTPStatus.OK)


def edit_routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get(f"{LETTER}/edit")
    async def show_edit(request: Request, dead_letter_id: UUID, viewer: Viewer) -> Response:
        """The form; what is hidden elsewhere keeps its value, unless it is shown in full."""
        _check(viewer)
        return await _form(request, viewer, dead_letter_id)

    @router.post(f"{LETTER}/edit/full")
    async def show_edit_in_full(
        request: Request, dead_letter_id: UUID, viewer: Viewer, form: FormData
    ) -> Response:
        """The form with what is hidden elsewhere, and with what was typed. The monitor notes the look."""
        viewer.check_may(Scope.REPAIR)
        return await _form(request, viewer, dead_letter_id, form=form, in_full=True)

    @router.post(f"{LETTER}/edit")
    async def send_edit(request: Request, dead_letter_id: UUID, viewer: Viewer, form: FormData) -> Response:
        """Sends the edited message. If its service refuses it or is away, the form comes back with all that was typed."""
        _check(viewer)
        in_full = bool(form.text("in_full")) and viewer.may(Scope.REPAIR)
        show = partial(_form, request, viewer, dead_letter_id, form=form, in_full=in_full)
        try:
            return await once(
                request, viewer, form, partial(_send, request, viewer, dead_letter_id, form, in_full=in_full)
            )
        except UnreadableEditError as error:
            return await show(problems=Problems(error.problems))
        except NotEditableError as error:
            return await show(problems=Problems({}, (str(error),), HTTPStatus.CONFLICT))
        except RefusedError as error:
            if is_away(error):
                return await show(problems=_away(viewer, error))
            return await show(problems=_refused(viewer, error))
        except ClientError as error:
            return await show(problems=_away(viewer, error))

    return router


def _check(viewer: PageViewer) -> None:
    viewer.check_may(Scope.OPERATE)


def _away(viewer: PageViewer, error: ClientError) -> Problems:
    told = viewer.t("dead_letters.edit.away", detail=str(error))
    return Problems({}, (told,), HTTPStatus.SERVICE_UNAVAILABLE)


def _refused(viewer: PageViewer, error: RefusedError) -> Problems:
    errors = error.problem.get("errors") or ()
    if not errors:
        return Problems({}, (sentence_of(error, viewer.t),), error.status)
    # Which fields the form has is known when it is shown again.
    return Problems({each["field"]: each["detail"] for each in errors}, (), error.status)


async def _send(
    request: Request, viewer: PageViewer, dead_letter_id: UUID, form: Form, *, in_full: bool
) -> Response:
    seen: Any = await viewer.monitor.get_dead_letter(str(dead_letter_id))
    # What is hidden is looked at, which the monitor notes, only to keep its value.
    letter: Any = await viewer.monitor.reveal_dead_letter(str(dead_letter_id)) if _hides(seen) else seen
    service = consumer_of(letter)
    if service is None or (letter["state"] != "open" and not letter.get("edit")):
        raise NotEditableError(viewer.t("dead_letters.edit.not_now"))
    client: Any = getattr(viewer, service)
    known = await client.get_message_edit(letter["event_id"], type=letter["type"])
    fields = _fields(known, letter if in_full else seen)
    original = letter["payload"]
    typed = read_typed(original["payload"], fields, form)
    if typed.problems:
        raise UnreadableEditError(typed.problems)
    trace = {
        name: value
        for name in _TRACE
        if isinstance(value := letter["headers"].get(name), str) and 0 < len(value) <= _LONGEST_HEADER
    }
    reason = form.text("reason")
    await client.edit_message(
        letter["event_id"],
        original=original,
        payload=typed.payload,
        trace=trace or None,
        by=viewer.person.name,
        reason=reason or None,
        **limits_of(form, datetime.now(UTC)),
    )
    return redirect(request, f"/dead-letters/{dead_letter_id}?done=edited")


def _hides(letter: Mapping[str, Any]) -> bool:
    return bool(letter.get("payload_hidden"))


def _fields(known: Mapping[str, Any], letter: Mapping[str, Any]) -> list[EditField]:
    hidden = letter.get("payload_hidden", ())
    return fields_of(known["payload_schema"], known["fixed"], letter["payload"]["payload"], hidden)


async def _form(
    request: Request,
    viewer: PageViewer,
    dead_letter_id: UUID,
    *,
    form: Form | None = None,
    in_full: bool = False,
    problems: Problems = _NONE,
) -> Response:
    read = viewer.monitor.reveal_dead_letter if in_full else viewer.monitor.get_dead_letter
    letter: Any = await viewer.ask_one("monitor", read(str(dead_letter_id)))
    known: Any = None
    is_known = isinstance(letter, Mapping)
    service = consumer_of(letter) if is_known else None
    if service is not None:
        call = getattr(viewer, service).get_message_edit(letter["event_id"], type=letter["type"])
        known = await viewer.ask_one(service, call)
    if isinstance(known, Mapping):
        plain = _fields(known, letter)
        errors = [{"field": name, "detail": told} for name, told in problems.by_field.items()]
        by_field, others = problems_by_field(errors, plain)
        fields = with_typed(plain, form, by_field)
    else:
        fields, others = fields_in(form) if form is not None else [], list(problems.by_field.values())
    return page(
        request,
        viewer,
        "dead_letters/edit.html.j2",
        status=problems.status,
        dead_letter_id=dead_letter_id,
        letter=letter,
        is_known=is_known,
        service=service,
        known=known if isinstance(known, Mapping) else None,
        found=letter if service is None else known,
        fields=fields,
        refusals=[*problems.others, *others],
        is_in_full=in_full and is_known,
        may_reveal=viewer.may(Scope.REPAIR) and any(each.kind == "hidden" for each in fields),
        reason=form.text("reason") if form is not None else "",
        hours=form.text("hours") if form is not None else "24",
        max_cost=form.text("max_cost") if form is not None else "",
        is_open=is_known and letter["state"] == "open",
    )
