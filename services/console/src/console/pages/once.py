"""Actions that happen once, however often their form is sent: the answer of the first is that of all."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Final, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis import Connection
from client import RefusedError
from console.pages.forms import Form
from console.pages.layout import redirect
from console.pages.parts import parts_of
from console.pages.viewer import PageViewer
from console.sealing import SealedError, seal, unseal
from console.service_clients import is_away, sentence_of

_LONGEST_ID: Final = 64
_PAUSE_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 30.0
_PURPOSE: Final = "answer"
_SHOWN: Final = "shown once"
SHOWN_FOR: Final = timedelta(minutes=2)
"""So long the same press shows a secret again."""


class ShowRefusal(Protocol):
    """Shows the page of a form with what a service says against it."""

    def __call__(self, *, refusal: str, status: int) -> Awaitable[Response]: ...


async def once(
    request: Request,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
    *,
    patience: float = _PATIENCE_SECONDS,
) -> Response:
    """Acts, unless the form's id has acted already; then returns the stored answer.

    If the act raises, the same form may act again. A second request waits for the first, for `patience` seconds.

    Raises:
        HTTPException: 422, the form has no id; 409, the first is still under way.
    """
    form_id = form.once
    if not form_id or len(form_id) > _LONGEST_ID:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("layout.error.once"))
    connections, person = parts_of(request).connections, viewer.person.id
    async with connections.connection() as connection:
        begun = await connection.fetchval(
            "insert into done_once (person, id) values ($1, $2) on conflict do nothing returning true",
            person,
            form_id,
        )
    if not begun:
        return await _answer_of_first(request, viewer, form_id, patience)
    try:
        response = await act()
    except BaseException:
        async with connections.connection() as connection:
            await connection.execute("delete from done_once where person = $1 and id = $2", person, form_id)
        raise
    async with connections.connection() as connection:
        await connection.execute(
            "update done_once set answer = $3 where person = $1 and id = $2",
            person,
            form_id,
            seal(_stored(response), viewer.own_key, _PURPOSE),
        )
    return response


async def once_or_refused(
    request: Request,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
    show: ShowRefusal,
    *,
    patience: float = _PATIENCE_SECONDS,
) -> Response:
    """Acts as `once` does. A service's refusal is shown by `show`, such as `partial(_show, request, viewer, form=form)`."""
    try:
        return await once(request, viewer, form, act, patience=patience)
    except RefusedError as error:
        if is_away(error):
            raise
        return await show(refusal=sentence_of(error, viewer.t), status=error.status)


async def once_shown(
    request: Request,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
    after: str,
    show: ShowRefusal | None = None,
) -> Response:
    """Acts as `once` does, and answers with a page that shows a secret.

    The same press again gets the stored page for SHOWN_FOR; only the cookie of the same session opens it. Later it leads to the path
    `after`.
    """
    shown: list[Response] = []

    async def show_once() -> Response:
        shown.append(await act())
        async with parts_of(request).connections.connection() as connection:
            await connection.execute(
                "update done_once set shown = $3 where person = $1 and id = $2",
                viewer.person.id,
                form.once,
                seal(_stored(shown[0]), viewer.session_key, _SHOWN),
            )
        return redirect(request, after)

    if show is None:
        answer = await once(request, viewer, form, show_once)
    else:
        answer = await once_or_refused(request, viewer, form, show_once, show)
    if shown:
        return shown[0]
    async with parts_of(request).connections.connection() as connection:
        stored = await connection.fetchval(
            "select shown from done_once where person = $1 and id = $2 and begun_at > now() - $3::interval",
            viewer.person.id,
            form.once,
            SHOWN_FOR,
        )
    try:
        return answer if stored is None else _restored(unseal(stored, viewer.session_key, _SHOWN))
    except SealedError:  # another session
        return answer


async def forget_shown(connection: Connection) -> None:
    """Empties the pages that were shown once."""
    await connection.execute(
        "update done_once set shown = null where shown is not null and begun_at <= now() - $1::interval",
        SHOWN_FOR,
    )


async def _answer_of_first(request: Request, viewer: PageViewer, form_id: str, patience: float) -> Response:
    connections = parts_of(request).connections
    for _ in range(int(patience / _PAUSE_SECONDS)):
        async with connections.connection() as connection:
            answer = await connection.fetchval(
                "select answer from done_once where person = $1 and id = $2", viewer.person.id, form_id
            )
        if answer is not None:
            return _restored(unseal(answer, viewer.own_key, _PURPOSE))
        await asyncio.sleep(_PAUSE_SECONDS)
    raise HTTPException(HTTPStatus.CONFLICT, viewer.t("layout.error.under_way"))


def _stored(response: Response) -> bytes:
    headers = [[name, value] for name, value in response.headers.items() if name != "set-cookie"]
    return json.dumps(
        {"status": response.status_code, "headers": headers, "body": bytes(response.body).decode()}
    ).encode()


def _restored(stored: bytes) -> Response:
    told = json.loads(stored)
    return Response(told["body"], told["status"], headers=dict(told["headers"]))
