"""Notices of a person, in the console's own database, sealed by the person's own key."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from starlette.requests import Request
from starlette.responses import Response

from chassis import Connection
from console.ids import parse_id
from console.pages.layout import redirect
from console.pages.parts import parts_of
from console.pages.viewer import NOTICE, PageViewer
from console.sealing import SealedError, seal, unseal

KEPT_FOR: Final = timedelta(hours=1)
"""So long something can be undone."""

UndoAct = Callable[[PageViewer, Sequence[Any]], Awaitable[None]]
"""Takes back what was done to one thing; it is named as the `Undo` has it."""


@dataclass(frozen=True, slots=True)
class Undo:
    """What takes an action back."""

    kind: str
    """Names the act in the `UNDO` of a screen's `routes.py`."""
    things: Sequence[Sequence[Any]]
    """What the act is called with, once for each thing."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A finished action, in texts of the catalogue."""

    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    more: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Further sentences, each with its fields."""
    refused: Sequence[tuple[str, str, str]] = ()
    """Name, path and reason of each thing to which it was not done."""
    done: Sequence[tuple[str, str]] = ()
    """Name and path of each thing that was done or made; empty if the sentence says it all."""
    undo: Undo | None = None
    back: str = ""
    """Where a person is after an Undo; empty: the page that shows the notice."""
    id: str = ""


async def told(request: Request, viewer: PageViewer, path: str, notice: Notice) -> Response:
    """Sends the browser to a page that shows the notice; an Undo leads there, too."""
    made = uuid4()
    stored = {**asdict(notice), "back": notice.back or path, "id": str(made)}
    async with parts_of(request).connections.connection() as connection:
        await connection.execute(
            "insert into notices (id, person, sealed) values ($1, $2, $3)",
            made,
            viewer.person.id,
            seal(json.dumps(stored, default=str).encode(), viewer.own_key, _purpose(made)),
        )
    place, hash_mark, part = path.partition("#")
    joint = "&" if "?" in place else "?"
    return redirect(request, f"{place}{joint}{NOTICE}={made}{hash_mark}{part}")


async def can_undo(
    request: Request, viewer: PageViewer, path: str, kind: str, *things: Sequence[Any], back: str
) -> Response:
    """Sends the browser to a page that says itself what was done, and offers to undo it."""
    return await told(request, viewer, path, Notice("notices.can_undo", undo=Undo(kind, things), back=back))


async def find(request: Request, viewer: PageViewer, text: str) -> Notice | None:
    """Returns a notice of the person; None if it is unknown or over."""
    notice = parse_id(text)
    if notice is None:
        return None
    async with parts_of(request).connections.connection() as connection:
        sealed = await connection.fetchval(
            "select sealed from notices where id = $1 and person = $2 and made_at > now() - $3::interval",
            notice,
            viewer.person.id,
            KEPT_FOR,
        )
    return None if sealed is None else _opened(viewer, notice, sealed)


async def take(request: Request, viewer: PageViewer, text: str) -> Notice | None:
    """Returns a notice and removes it, so that it is undone once; None if it is unknown or over."""
    found = await find(request, viewer, text)
    if found is None:
        return None
    async with parts_of(request).connections.connection() as connection:
        taken = await connection.fetchval(
            "delete from notices where id = $1 and person = $2 returning true",
            parse_id(text),
            viewer.person.id,
        )
    return found if taken else None


async def forget_old(connection: Connection) -> None:
    await connection.execute("delete from notices where made_at < now() - $1::interval", KEPT_FOR)


def _opened(viewer: PageViewer, notice: UUID, sealed: bytes) -> Notice | None:
    try:
        read = json.loads(unseal(sealed, viewer.own_key, _purpose(notice)))
    except SealedError:
        return None
    undo = read.pop("undo")
    return Notice(**read, undo=Undo(**undo) if undo else None)


def _purpose(notice: UUID) -> str:
    return f"notice {notice}"
