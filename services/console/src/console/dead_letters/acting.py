"""Replays, discards and restores dead letters: the checked ones at once, all that match in the background."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from console.dead_letters import views
from console.dead_letters.views import LetterFilter
from console.ids import parse_id
from console.money.views import typed_dollars
from console.notices import Notice
from console.pages import Form, PageViewer

MOST_CHECKED: Final = 500
"""Checked letters that one press acts on; the monitor takes no more in a call."""
_MOST_DIGITS: Final = 4
VERBS: Final = {"replay": "replayed", "discard": "discarded", "restore": "restored"}
"""What a button does → the number in the monitor's answer."""
CANARY_VERBS: Final = ("canary", "stop_canary")
STOP_OPERATION: Final = "stop_operation"


async def act_on_many(viewer: PageViewer, form: Form, wanted: LetterFilter) -> Notice:
    """Acts on the checked letters, or begins to act on all that matched when the page was made.

    Later ones stay: the form has the time of its page, which the monitor compares. The monitor takes only letters in the state
    that the act needs, so that a second press, or another person's, repeats nothing.

    Raises:
        ClientError: nothing was done.
    """
    verb = form.text("do")
    if form.text("which") != "all":
        ids = [each for each in dict.fromkeys(form.all("chosen")) if parse_id(each)][:MOST_CHECKED]
        if not ids:
            return Notice("dead_letters.nothing_done")
        call: Callable[..., Awaitable[Any]] = getattr(viewer.monitor, f"{verb}_dead_letters")
        answer = await call(ids=ids, **decision_of(viewer, form), limit=MOST_CHECKED)
        return _told(verb, answer[VERBS[verb]], is_whole=True)
    # Without a field that cannot be read, it would take more than the list shows.
    if not wanted.may_act_on_all or views.STATE_FOR[verb] != wanted.state:
        return Notice("dead_letters.nothing_done")
    asked: dict[str, Any] = {"verb": verb, "until": form.text("until")} | decision_of(viewer, form)
    asked |= {
        name: value for name, value in wanted.selection(viewer.person.zone).items() if value is not None
    }
    begun: Any = await viewer.monitor.begin_dead_letter_operation(**asked)
    return _told(verb, begun["decided"], is_whole=begun["decided"] >= begun["total"])


def _told(verb: str, done: int, *, is_whole: bool) -> Notice:
    if not done:
        return Notice("dead_letters.nothing_done")
    going_on: list[tuple[str, Mapping[str, Any]]] = [] if is_whole else [("dead_letters.going_on", {})]
    return Notice(f"dead_letters.done.{verb}", {"n": done}, [*going_on, (f"dead_letters.then.{verb}", {})])


async def stop_operation(viewer: PageViewer, form: Form) -> Notice:
    """Stops an operation on all that match; one that has ended stays as it ended."""
    operation = parse_id(form.text("operation"))
    if operation is None:
        return Notice("dead_letters.nothing_done")
    await viewer.monitor.stop_dead_letter_operation(str(operation), by=viewer.person.name)
    return Notice("dead_letters.operations.stopped_now")


async def act_on_canary(viewer: PageViewer, form: Form, wanted: LetterFilter) -> Notice:
    """Begins the canary replay of the group, or stops the one that runs. One that runs already is not begun again.

    Raises:
        ClientError: nothing was done.
    """
    if form.text("do") == "stop_canary" and (canary := parse_id(form.text("canary"))) is not None:
        await viewer.monitor.stop_canary_replay(str(canary), by=viewer.person.name)
        return Notice("dead_letters.canary.stopped_now")
    if form.text("do") == "canary" and wanted.group:
        decision: dict[str, Any] = decision_of(viewer, form)
        await viewer.monitor.begin_canary_replay(group=wanted.group, **decision)
        return Notice("dead_letters.canary.begun")
    return Notice("dead_letters.nothing_done")


def limits_of(form: Form, now: datetime) -> dict[str, Any]:
    """Returns the new limits of a replay, of a message that was over one; what is no number is left for the service to refuse."""
    hours, limits = form.text("hours"), dict[str, Any]()
    if hours:
        is_number = hours.isascii() and hours.isdigit() and len(hours) <= _MOST_DIGITS
        limits["deadline"] = (now + timedelta(hours=int(hours))).isoformat() if is_number else hours
    if cost := typed_dollars(form.text("max_cost")):
        limits["max_cost"] = cost
    return limits


def decision_of(viewer: PageViewer, form: Form) -> dict[str, str]:
    """Returns who decides, and why; a replay needs no reason."""
    reason = form.text("reason")
    return {"by": viewer.person.name} | (
        {"reason": reason} if reason or form.text("do") not in {"replay", "canary"} else {}
    )
