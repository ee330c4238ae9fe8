"""Freezes the items that a filter matches, and acts on each. Later ones are counted, and left alone."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from console.acting_on_each import PARALLEL, ActedOn, act_on_each
from console.notices.store import Notice, Undo, told
from console.pages.forms import Form
from console.pages.viewer import PageViewer

MOST_AT_ONCE: Final = 500
"""Things that one press acts on."""
MOST_COUNTED: Final = 1_000
"""Further things that are counted."""
_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class MassItem:
    """A thing of the list."""

    id: str
    title: str
    path: str
    """Of its page."""
    version: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else the action needs."""


Matching = Callable[[], AsyncIterator[MassItem]]
"""Reads what the filter matches and the action is possible for, in the order of the list."""


@dataclass(frozen=True, slots=True)
class FrozenMatches:
    """The items that a filter matched when the button was pressed."""

    items: Sequence[MassItem]
    left: int
    """Things beyond MOST_AT_ONCE, up to MOST_COUNTED."""
    known: frozenset[str]
    """Ids of all that were read."""

    @property
    def is_whole(self) -> bool:
        """Whether all were read, so that what comes later can be told."""
        return self.left < MOST_COUNTED


async def whole_list(call: Callable[..., Awaitable[Any]], **filters: Any) -> AsyncIterator[Any]:
    """Reads a list of a service page by page."""
    while True:
        listed = await call(**filters)
        for each in listed["items"]:
            yield each
        filters["after"] = listed["next"]
        if listed["next"] is None:
            return


async def freeze(matching: Matching) -> FrozenMatches:
    """Reads what the filter matches now."""
    found: list[MassItem] = []
    async for each in matching():
        found.append(each)
        if len(found) == MOST_AT_ONCE + MOST_COUNTED:
            break
    items = found[:MOST_AT_ONCE]
    return FrozenMatches(items, len(found) - len(items), frozenset(each.id for each in found))


async def count_later(matching: Matching, frozen: FrozenMatches) -> int:
    """Returns how many match that did not when it was frozen, up to MOST_COUNTED."""
    later = 0
    if frozen.is_whole:
        async for each in matching():
            later += each.id not in frozen.known
            if later == MOST_COUNTED:
                break
    return later


@dataclass(frozen=True)
class MassPress:
    """A button for many things that was pressed.

    Args:
        texts: the beginning of the texts of what was done, such as `posts.many_done.`.
        find: reads a checked thing by its value; None if it is unknown, or of another brand.
        back: the list with its filter, where the outcome is shown.
    """

    request: Request
    viewer: PageViewer
    form: Form
    texts: str
    back: str
    matching: Matching
    find: Callable[[str], Awaitable[MassItem | None]]
    skipped: Sequence[tuple[MassItem, str]] = ()
    """Checked things for which the action is not possible, and why. `find` may add to them."""

    @property
    def verb(self) -> str:
        return self.form.text("do")

    @property
    def is_all(self) -> bool:
        return self.form.text("which") == "all"

    async def frozen(self) -> FrozenMatches:
        """The items of the press: all that the filter matches now, or the checked ones."""
        if self.is_all:
            return await freeze(self.matching)
        found: list[MassItem] = []

        async def find(value: str) -> None:
            if (item := await self.find(value)) is not None:
                found.append(item)

        values = list(dict.fromkeys(self.form.all("chosen")))
        await act_on_each(values[:MOST_AT_ONCE], find, self.viewer.t)
        return FrozenMatches(found, 0, frozenset(each.id for each in found))

    async def act(
        self,
        frozen: FrozenMatches,
        act: Callable[[MassItem], Awaitable[None]],
        *,
        parallel: int = PARALLEL,
        undo: str = "",
        undone_by: Callable[[MassItem], Sequence[Any]] | None = None,
    ) -> Response:
        """Acts on what is frozen and tells what became of it. Without `undo` the notice says that it is final."""
        outcome = await act_on_each(frozen.items, act, self.viewer.t, parallel=parallel)
        things = [list(undone_by(each)) for each in outcome.done] if undone_by else []
        return await self.tell(frozen, outcome, Undo(undo, things) if things else None, is_final=not undo)

    async def tell(
        self,
        frozen: FrozenMatches,
        outcome: ActedOn[MassItem],
        undo: Undo | None,
        *,
        is_final: bool,
        done: Sequence[tuple[str, str]] = (),
        more: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> Response:
        """Tells what became of the press.

        Args:
            frozen: what the press meant.
            outcome: what was done, and what was not.
            undo: takes it back.
            is_final: whether the notice says that it cannot be undone.
            done: names and paths of what was done, to list them.
            more: further sentences.
        """
        more, not_done = [*more], [*outcome.refused, *self.skipped]
        if self.is_all and (later := await count_later(self.matching, frozen)):
            more.append(("mass_actions.later", {"n": later}))
        if frozen.left:
            more.append(("mass_actions.left", {"n": frozen.left, "most": MOST_AT_ONCE}))
        if is_final and outcome.done:
            more.append(("notices.final", {}))
        if not_done:
            # Its reasons are listed below it.
            more.append(("mass_actions.refused", {"n": len(not_done)}))
        refused = [(each.title, each.path, why) for each, why in not_done[:_LISTED]]
        key, fields = self.texts + self.verb, {"n": len(outcome.done)}
        notice = Notice(key, fields, more, refused, done[:_LISTED], undo)
        return await told(self.request, self.viewer, self.back, notice)
