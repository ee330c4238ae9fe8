"""Submits many keywords once more, or sets their priority."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.acting_on_each import ActedOn
from console.keywords import views
from console.list_filters import ListFilter
from console.mass_actions.acting import FrozenMatches, MassItem, MassPress, whole_list
from console.notices import Notice, Undo, UndoAct, told
from console.pages import FormData, PageViewer, Viewer, once

ELIGIBLE: Final = {
    "again": views.ENDED - {"completed"},
    "priority": frozenset({"queued"}),
}
"""States in which each button does something."""
_WHY_NOT: Final = {"again": "keywords.not_again.", "priority": "keywords.not_priority."}
"""Texts by the state of a keyword for which the button does nothing."""
_NONE: Final = {"again": "keywords.none_again", "priority": "keywords.none_priority"}
PRIORITIES: Final = ("high", "normal", "low")
_BATCH: Final = 200
router = APIRouter(include_in_schema=False)


@router.post("/b/{brand}/keywords/many")
async def change_many(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Does one thing to the checked keywords, or to all that the filter matches when the button is pressed."""
    viewer.check_may(Scope.SUBMIT)
    verb = form.text("do")
    wanted = ListFilter.of({name: form.text(name) for name in ("q", "state", "age")}, views.STATES)
    back = f"/b/{brand}/keywords{wanted.query()}".removesuffix("?")

    others: dict[str, str] = {}
    """The state of each keyword that matches and was left as it is, by its id."""
    skipped: list[tuple[MassItem, str]] = []

    async def matching() -> AsyncIterator[MassItem]:
        filters = wanted.arguments(datetime.now(UTC)) | {"brand": brand, "limit": _BATCH}
        async for each in whole_list(viewer.orchestrator.search_for_keywords, **filters):
            if each["state"] in ELIGIBLE[verb]:
                yield _item(brand, each)
            else:
                others[_item(brand, each).id] = each["state"]

    async def find(value: str) -> MassItem | None:
        found = await _find(viewer, brand, value)
        if found is None or found.more["state"] in ELIGIBLE[verb]:
            return found
        skipped.append((found, viewer.t(_WHY_NOT[verb] + found.more["state"])))
        return None

    press = MassPress(request, viewer, form, "keywords.many_done.", back, matching, find, skipped)

    async def act() -> Response:
        frozen = await press.frozen() if verb in ELIGIBLE else None
        more = [_left_as_they_are(viewer, others)] if others else []
        if frozen is None or not frozen.items:
            if not skipped and not more:
                return await told(request, viewer, back, Notice("mass_actions.none"))
            refused = [(each.title, each.path, why) for each, why in skipped]
            return await told(request, viewer, back, Notice(_NONE[verb], {}, more, refused))
        if verb == "again":
            return await _submit_again(press, brand, frozen, more)
        return await _set(press, frozen)

    return await once(request, viewer, form, act)


def _left_as_they_are(viewer: PageViewer, others: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """The sentence about keywords that match and were left as they are: how many are in which state."""
    counted = Counter(others.values()).most_common()
    told = ", ".join(f"{viewer.t(f'keywords.state.{state}')} {n}" for state, n in counted)
    return "keywords.left_as_they_are", {"n": len(others), "states": told}


async def _find(viewer: PageViewer, brand: str, value: str) -> MassItem | None:
    place = views.KeywordId.of(value)
    if place is None:
        return None
    found = await viewer.orchestrator.search_for_keywords(brand=brand, after=place.behind, limit=1)
    for each in found["items"]:
        if views.KeywordId(each["cycle_id"], each["position"]) == place:
            return _item(brand, each)
    return None


def _item(brand: str, found: Any) -> MassItem:
    place = f"{found['cycle_id']}.{found['position']}"
    path = f"/b/{brand}/keywords/{place}"
    if found["state"] == "publishing" and found["content_id"]:
        # There it can be published again.
        path = f"/b/{brand}/articles/{found['content_id']}"
    return MassItem(
        place, found["keyword"], path, more={"priority": found["priority"], "state": found["state"]}
    )


async def _submit_again(
    press: MassPress, brand: str, frozen: FrozenMatches, more: Sequence[tuple[str, Mapping[str, Any]]]
) -> Response:
    """Submits the keywords as one list, so that they are one cycle, each with the priority that it had."""
    # A keyword that was refused twice is submitted once.
    by_keyword = {each.title: each for each in frozen.items}
    priorities = [each.more["priority"] for each in by_keyword.values()]
    asked = {"keywords": list(by_keyword), "priorities": priorities}
    accepted = await press.viewer.orchestrator.submit_keywords(
        brand, json.dumps(asked).encode(), idempotency_key=press.form.once or None
    )
    may_cancel = press.viewer.may(Scope.OPERATE)
    undo = Undo("keywords.cancel", [[accepted["cycle_id"]]]) if may_cancel else None
    outcome = ActedOn[MassItem](done=list(by_keyword.values()))
    # The orchestrator folds spellings that are alike; then places in its list are not those of this one.
    is_as_sent = accepted["total"] == len(by_keyword)
    done = [
        (each, views.path_of(brand, accepted["cycle_id"], place) if is_as_sent else "")
        for place, each in enumerate(by_keyword, 1)
    ]
    return await press.tell(frozen, outcome, undo, is_final=False, done=done, more=more)


async def _set(press: MassPress, frozen: FrozenMatches) -> Response:
    wanted = press.form.text("priority")

    async def set_priority(item: MassItem) -> None:
        await _set_priority(press.viewer, item.id, wanted)

    return await press.act(
        frozen,
        set_priority,
        undo="keywords.priority",
        undone_by=lambda item: [item.id, item.more["priority"]],
    )


async def _set_priority(viewer: PageViewer, place: str, priority: str) -> None:
    cycle_id, _, position = place.partition(".")
    await viewer.orchestrator.set_keyword_priority(
        cycle_id,
        int(position),
        priority=priority,  # type: ignore[arg-type]  # the service checks it
    )


async def _undo_priority(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await _set_priority(viewer, thing[0], thing[1])


async def _undo_submission(viewer: PageViewer, thing: Sequence[Any]) -> None:
    """Cancels keywords that have not begun; the others continue."""
    await viewer.orchestrator.cancel_cycle(thing[0])


UNDO: Final[dict[str, UndoAct]] = {
    "keywords.priority": _undo_priority,
    "keywords.cancel": _undo_submission,
}
