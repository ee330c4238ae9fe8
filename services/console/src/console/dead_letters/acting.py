"""Replays, discards and restores dead letters: one, the checked ones, or all that match."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from client import ClientError, RefusedError
from console.dead_letters import views
from console.dead_letters.views import LetterFilter
from console.ids import parse_id
from console.notices import Notice
from console.pages import Form, PageViewer
from console.service_clients import sentence_of

MOST_AT_ONCE: Final = 2_000
"""Letters that one press acts on."""
_BATCH: Final = 500
VERBS: Final = {"replay": "replayed", "discard": "discarded", "restore": "restored"}
"""What a button does → the number in the monitor's answer."""
CANARY_VERBS: Final = ("canary", "stop_canary")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a press."""

    done: int
    more: bool
    """Whether it ended at MOST_AT_ONCE, with letters left."""
    problem: str = ""
    """Why it ended early."""

    def notice(self, verb: str) -> Notice:
        if not self.done and not self.problem:
            return Notice("dead_letters.nothing_done")
        more: list[tuple[str, Mapping[str, Any]]] = []
        if self.problem:
            more.append(("dead_letters.stopped", {"why": self.problem}))
        if self.more:
            more.append(("dead_letters.left", {"most": MOST_AT_ONCE}))
        if self.done:
            more.append((f"dead_letters.then.{verb}", {}))
        return Notice(f"dead_letters.done.{verb}", {"n": self.done}, more)


async def act_on_many(viewer: PageViewer, form: Form, wanted: LetterFilter) -> Outcome:
    """Acts on the checked letters, or on all that matched when the page was made.

    Later ones stay: the form has the time of its page, which the monitor compares. The monitor takes only letters in the state
    that the act needs, so that a second press, or another person's, repeats nothing.

    Raises:
        ClientError: the first call failed, so nothing was done.
    """
    verb = form.text("do")
    if form.text("which") == "all":
        # Without a field that cannot be read, it would take more than the list shows.
        if not wanted.may_act_on_all or views.STATE_FOR[verb] != wanted.state:
            return Outcome(0, more=False)
        selection = wanted.selection(viewer.person.zone) | {"until": form.text("until")}
    else:
        ids = [each for each in dict.fromkeys(form.all("chosen")) if parse_id(each)]
        if not ids:
            return Outcome(0, more=False)
        selection = {"ids": ids[:_BATCH]}
    call: Callable[..., Awaitable[Any]] = getattr(viewer.monitor, f"{verb}_dead_letters")
    done = 0
    after: dict[str, Any] = {}
    while done < MOST_AT_ONCE:
        limit = min(_BATCH, MOST_AT_ONCE - done)
        try:
            answer = await call(**selection, **decision_of(viewer, form), **after, limit=limit)
        except ClientError as error:
            if not done:
                raise
            why = sentence_of(error, viewer.t) if isinstance(error, RefusedError) else str(error)
            return Outcome(done, more=False, problem=why)
        done += answer[VERBS[verb]]
        if answer["next"] is None:
            return Outcome(done, more=False)
        after = {"after": answer["next"]}
    return Outcome(done, more=True)


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


def decision_of(viewer: PageViewer, form: Form) -> dict[str, str]:
    """Returns who decides, and why; a replay needs no reason."""
    reason = form.text("reason")
    return {"by": viewer.person.name} | (
        {"reason": reason} if reason or form.text("do") not in {"replay", "canary"} else {}
    )
