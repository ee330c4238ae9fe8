"""Routes of the pages of dead letters: groups and list, one letter, and what an operator decides."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client import RefusedError
from console.dead_letters import views
from console.dead_letters.acting import (
    CANARY_VERBS,
    STOP_OPERATION,
    VERBS,
    act_on_canary,
    act_on_many,
    decision_of,
    limits_of,
    stop_operation,
)
from console.dead_letters.code_changes import (
    NOTHING_KNOWN,
    compare,
    compare_letter,
    read_present_code,
)
from console.dead_letters.edit_form import Change, changes_between
from console.dead_letters.edit_routes import consumer_of, edit_routes, may_edit
from console.dead_letters.views import LetterFilter
from console.notices import told
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)
from console.pages.present_codes import PresentCode
from console.service_clients import PersonClients, sentence_of
from console.watching.pages import LivePage, read_each

if TYPE_CHECKING:
    from client.services.monitor import answers

LIST: Final = "/dead-letters"
NAVIGATION: Final = (NavigationEntry("dead_letters", LIST, 25, Scope.OPERATE),)
DONE: Final = (*VERBS.values(), "edited")
router = APIRouter(include_in_schema=False)
add_routes(router, edit_routes())


async def read_list(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (the path has no fields)
    """Reads what changes on the list: the letters of the page and their number, without the time of the answer."""
    (found,) = await read_each(clients.monitor.list_dead_letters(**LetterFilter.of(query).watched()))
    shown = (
        {name: value for name, value in found.items() if name != "now"} if isinstance(found, dict) else found
    )
    group = LetterFilter.of(query).group
    return [
        shown,
        *await read_each(clients.monitor.list_dead_letter_operations(limit=views.OPERATIONS)),
        *(await read_each(clients.monitor.list_canary_replays(group=group, limit=1)) if group else ()),
    ]


async def read_letter(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filter)
    """Reads one letter, whose state changes when a consumer has handled its replay."""
    return await read_each(clients.monitor.get_dead_letter(fields["dead_letter_id"]))


LIVE: Final = (LivePage(LIST, read_list), LivePage(f"{LIST}/{{dead_letter_id}}", read_letter))


@router.get(LIST)
async def list_letters(request: Request, viewer: Viewer) -> Response:
    """The failures in groups, and the letters that the filter in the address matches, newest first."""
    viewer.check_may(Scope.OPERATE)
    return await _list(request, viewer, LetterFilter.of(request.query_params))


async def _list(
    request: Request,
    viewer: PageViewer,
    wanted: LetterFilter,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    if wanted.unreadable:
        names = ", ".join(viewer.t(f"dead_letters.{name}") for name in wanted.unreadable)
        return _page(
            request,
            viewer,
            wanted,
            found=None,
            grouped=None,
            refusal=refusal or viewer.t("dead_letters.unreadable", names=names),
            status=HTTPStatus.UNPROCESSABLE_ENTITY if status == HTTPStatus.OK else status,
        )
    arguments = wanted.arguments(viewer.person.zone)
    calls: dict[str, Any] = {"found": viewer.monitor.list_dead_letters(**arguments)}
    if not wanted.is_narrow and not wanted.after:
        calls["grouped"] = viewer.monitor.summarize_dead_letters(
            state=arguments["state"], queue=wanted.queue or None
        )
    if wanted.group and arguments["state"]:
        calls["of_group"] = viewer.monitor.summarize_dead_letters(
            state=arguments["state"], group=wanted.group
        )
    parts, listed, canaries = await asyncio.gather(
        viewer.gather(**calls),
        viewer.ask_one("monitor", viewer.monitor.list_dead_letter_operations(limit=views.OPERATIONS)),
        _newest_canary(viewer, wanted.group),
    )
    grouped = parts.get("grouped", {"groups": []})
    of_group = parts.get("of_group")
    shown = [*grouped["groups"][: views.GROUPS], *(of_group["groups"] if of_group else ())] if grouped else []
    present = await read_present_code(
        request, viewer, {code["service"] for each in shown for code in each.get("codes", ())}
    )
    return _page(
        request,
        viewer,
        wanted,
        found=parts["found"],
        grouped=grouped,
        code_of_group=of_group["groups"][0] if of_group and of_group["groups"] else None,
        present=present,
        operations=views.latest(listed),
        canary=canaries["items"][0] if isinstance(canaries, dict) and canaries["items"] else None,
        refusal=refusal,
        status=status,
    )


async def _newest_canary(viewer: PageViewer, group: str) -> Any:
    """The last canary replay of a group; None without a group."""
    if not group:
        return None
    return await viewer.ask_one("monitor", viewer.monitor.list_canary_replays(group=group, limit=1))


def _page(
    request: Request,
    viewer: PageViewer,
    wanted: LetterFilter,
    *,
    found: Any,
    grouped: Any,
    refusal: str,
    status: int,
    operations: Sequence[Any] = (),
    canary: Any = None,
    code_of_group: Any = None,
    present: PresentCode = NOTHING_KNOWN,
) -> Response:
    return page(
        request,
        viewer,
        "dead_letters/list.html.j2",
        status=status,
        found=found,
        grouped=grouped,
        groups=grouped["groups"][: views.GROUPS] if grouped else [],
        wanted=wanted,
        counted={"count": found["matching"], "is_exact": True} if found and wanted.may_act_on_all else None,
        states=views.STATES,
        any_state=views.ANY,
        tones=views.TONES,
        most_at_once=found["matching"] if found else 0,
        operations=operations,
        now_sending=views.is_under_way,
        canary=canary,
        code_of_group=code_of_group,
        present=present,
        compare=compare,
        chosen_state=views.STATE_FOR[wanted.verbs[0]] if wanted.verbs else "",
        hidden=[name for name in LetterFilter.__slots__ if name != "after"],
        most_attempts=views.MOST_ATTEMPTS,
        refusal=refusal,
    )


@router.post(LIST)
async def decide_on_many(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Replays, discards or restores the checked letters, or all that matched when the page was made.

    Or begins the canary replay of the group, or stops it, or an operation on all that matched.
    """
    viewer.check_may(Scope.OPERATE)
    verb = form.text("do")
    if verb not in {*VERBS, *CANARY_VERBS, STOP_OPERATION}:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("dead_letters.no_verb"))
    wanted = LetterFilter.of({name: form.text(name) for name in LetterFilter.__slots__})
    if verb in {"discard", "restore"} and not form.text("reason"):
        refusal = viewer.t("dead_letters.reason_needed")
        return await _list(request, viewer, wanted, refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        if verb in CANARY_VERBS:
            notice = await act_on_canary(viewer, form, wanted)
        elif verb == STOP_OPERATION:
            notice = await stop_operation(viewer, form)
        else:
            notice = await act_on_many(viewer, form, wanted)
        return await told(request, viewer, LIST + wanted.query(), notice)

    return await once_or_refused(request, viewer, form, act, partial(_list, request, viewer, wanted))


@router.get(f"{LIST}/{{dead_letter_id}}")
async def show_letter(request: Request, dead_letter_id: UUID, viewer: Viewer) -> Response:
    """One letter: why it died, what it says, and what was decided."""
    viewer.check_may(Scope.OPERATE)
    return await _letter(request, viewer, dead_letter_id)


async def _letter(
    request: Request,
    viewer: PageViewer,
    dead_letter_id: UUID,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    in_full: bool = False,
) -> Response:
    read = viewer.monitor.reveal_dead_letter if in_full else viewer.monitor.get_dead_letter
    letter = await read(str(dead_letter_id))
    brand = views.brand_of(letter)
    present = await read_present_code(request, viewer, [letter["service"]] if letter.get("code") else [])
    return page(
        request,
        viewer,
        "dead_letters/letter.html.j2",
        status=status,
        letter=letter,
        message=views.message_of(letter),
        is_in_full=in_full,
        hidden=letter.get("payload_hidden", ()),
        may_reveal=viewer.may(Scope.REPAIR),
        may_edit=may_edit(viewer) and consumer_of(letter) is not None,
        edit=letter.get("edit"),
        changes=_changes(letter),
        code=compare_letter(letter, present),
        tone=views.TONES.get(letter["state"], "plain"),
        about=brand if brand in {each.slug for each in viewer.brands} else "",
        group_query=LetterFilter(group=letter["group"]).query(),
        chain_query=LetterFilter(state=views.ANY, chain=letter["correlation_id"] or "").query(),
        done=done_word(request, DONE),
        refusal=refusal,
    )


def _changes(letter: Mapping[str, Any]) -> list[Change]:
    """What the edit of a letter has changed."""
    edit, envelope = letter.get("edit"), letter["payload"]
    before = envelope.get("payload") if isinstance(envelope, dict) else None
    return changes_between(before, edit["payload"]) if edit else []


@router.get(f"{LIST}/{{dead_letter_id}}/message.json")
async def letter_as_json(request: Request, dead_letter_id: UUID, viewer: Viewer) -> Response:  # noqa: ARG001
    """The letter as a file, with as much of its message as the monitor returns."""
    viewer.check_may(Scope.OPERATE)
    letter = await viewer.monitor.get_dead_letter(str(dead_letter_id))
    name = f'attachment; filename="dead-letter-{dead_letter_id}.json"'
    text = json.dumps(letter, ensure_ascii=False, indent=1)
    return Response(text, media_type="application/json", headers={"Content-Disposition": name})


@router.post(f"{LIST}/{{dead_letter_id}}/reveal")
async def reveal(request: Request, dead_letter_id: UUID, viewer: Viewer, form: FormData) -> Response:  # noqa: ARG001
    """One letter with what is hidden elsewhere. The monitor notes each look, so a second press is noted too."""
    viewer.check_may(Scope.REPAIR)
    try:
        return await _letter(request, viewer, dead_letter_id, in_full=True)
    except RefusedError as error:
        # The person's key may be older than this right.
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return await _letter(
            request, viewer, dead_letter_id, refusal=sentence_of(error, viewer.t), status=error.status
        )


@router.post(f"{LIST}/{{dead_letter_id}}/decide")
async def decide(request: Request, dead_letter_id: UUID, viewer: Viewer, form: FormData) -> Response:
    """Replays, discards or restores one letter."""
    viewer.check_may(Scope.OPERATE)
    verb = form.text("do")
    if verb not in VERBS:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("dead_letters.no_verb"))

    async def act() -> Response:
        given: dict[str, Any] = decision_of(viewer, form)
        if verb == "replay":
            given |= limits_of(form, datetime.now(UTC))
            if target := form.text("redirect_to"):
                given["redirect_to"] = target
        call: Callable[..., Awaitable[answers.FullDeadLetterView]] = getattr(
            viewer.monitor, f"{verb}_dead_letter"
        )
        letter = await call(str(dead_letter_id), **given)
        return redirect(request, f"{LIST}/{letter['id']}?done={VERBS[verb]}")

    return await once_or_refused(
        request, viewer, form, act, partial(_letter, request, viewer, dead_letter_id)
    )
