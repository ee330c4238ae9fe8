"""Runs or cancels messages of one service that wait: the checked ones, or all that match."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from client import ClientError, RefusedError
from console.ids import parse_id
from console.notices import Notice
from console.pages import Form, PageViewer
from console.retries.views import RetryFilter
from console.service_clients import sentence_of

if TYPE_CHECKING:
    from client.services.monitor import answers

MOST_AT_ONCE: Final = 2_000
"""Messages that one press acts on."""
VERBS: Final = ("run", "cancel")
_BATCH: Final = 200


@dataclass(slots=True)
class Outcome:
    """What became of a press."""

    done: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """How many stay as they are, by the code of the reason."""
    more: bool = False
    """Whether it ended at MOST_AT_ONCE, with messages left."""
    problem: str = ""
    """Why it ended early."""

    def notice(self, verb: str) -> Notice:
        more: list[tuple[str, Mapping[str, Any]]] = [
            (f"retries.stays.{code}", {"n": count}) for code, count in sorted(self.refused.items())
        ]
        if self.problem:
            more.append(("retries.stopped", {"why": self.problem}))
        if self.more:
            more.append(("retries.left", {"most": MOST_AT_ONCE}))
        if not self.done and more:
            (key, fields), *rest = more
            return Notice(key, fields, rest)
        if not self.done:
            return Notice("retries.nothing_done")
        more.append((f"retries.then.{verb}", {}))
        return Notice(f"retries.done.{verb}", {"n": self.done}, more)


async def act_on_many(viewer: PageViewer, form: Form, wanted: RetryFilter) -> Outcome:
    """Acts on the checked messages, or on all that matched when the page was made.

    A message that waits anew has another id and another time, so a second press, or another person's, does not reach it.

    Raises:
        ClientError: the first call failed, so nothing was done.
    """
    outcome = Outcome()
    verb = form.text("do")
    selection: dict[str, Any]
    if form.text("which") == "all":
        if not wanted.may_act_on_all or not form.text("until"):
            return outcome
        selection = {
            "type": wanted.type or None,
            "correlation_id": wanted.chain or None,
            "until": form.text("until"),
        }
    else:
        ids = [each for each in dict.fromkeys(form.all("chosen")) if parse_id(each)]
        if not ids:
            return outcome
        selection = {"ids": ids[:_BATCH]}
    call: Callable[..., Awaitable[answers.RetriesChanged]] = getattr(
        getattr(viewer, wanted.service), f"{verb}_retries"
    )
    decision = {"by": viewer.person.name} | ({"reason": form.text("reason")} if verb == "cancel" else {})
    after: dict[str, Any] = {}
    while True:
        try:
            answer = await call(**selection, **decision, **after, limit=_BATCH)
        except ClientError as error:
            if not outcome.done:
                raise
            outcome.problem = sentence_of(error, viewer.t) if isinstance(error, RefusedError) else str(error)
            return outcome
        outcome.done += len(answer["ids"])
        outcome.refused.update(each["code"] for each in answer["refused"])
        if answer["next"] is None:
            return outcome
        if outcome.done + outcome.refused.total() >= MOST_AT_ONCE:
            outcome.more = True
            return outcome
        after = {"after": answer["next"]}
