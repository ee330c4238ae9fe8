"""`brandctl dead-letters replay`, `discard` and `restore`."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.dead_letters.bulk import MAX_BULK, BulkAction, decide_all
from brandctl.dead_letters.canary import show_canary
from brandctl.dead_letters.filters import DeadLetterSelection, with_filters
from brandctl.operator_names import By, who
from brandctl.short_ids import parse_reference
from brandctl.terminal import note
from client.errors import ClientError
from client.services.monitor import Monitor

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_TOLD_ONE_BY_ONE: Final = 20
"""With more than this, the report has counts, and single lines only for those that did not end well."""
_REPLAY: Final = BulkAction("replay", "replayed")
_DISCARD: Final = BulkAction("discard", "discarded")
_RESTORE: Final = BulkAction("restore", "restored", state="discarded")

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", parser=parse_reference, help="Ids out of `list`.")
]
All = Annotated[bool, typer.Option("--all", help="All dead letters that match the other options.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --all or --group: do not ask for confirmation.")]


@with_filters
def replay(
    monitor: Monitor,
    dead: Ids = None,
    all_: All = False,
    *,
    wanted: DeadLetterSelection,
    reason: str | None = None,
    deadline: str | None = None,
    max_cost: float | None = None,
    redirect_to: str | None = None,
    by: By = None,
    yes: Yes = False,
    canary: bool = False,
    wait: bool = False,
    timeout: Annotated[float, typer.Option(min=0.1)] = 120.0,
) -> Result:
    """Sends dead messages to their queues again. Do it once the cause is gone.

    A replay is a new message of the same chain. Its dead letter is resolved when the consumer has handled it; if it
    dies again, a new dead letter takes the old one's place. With --wait, exit code 0 means that all were handled.

    For example:

        brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
        brandctl dead-letters replay --group 5f0c3a9b1e77d204 --reason "template mended"
        brandctl dead-letters replay --group 5f0c3a9b1e77d204 --canary --wait
        brandctl dead-letters replay --all --queue publisher-commands
        brandctl dead-letters replay --all --error "503" --failed-since 2026-11-28T14:00
        brandctl dead-letters replay --all --type content.publish --yes --json
        brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --deadline 2026-12-04T12:00Z

    Options:
        reason: Reason, stored with the decision.
        deadline: New deadline of the chain, with a zone; those that died with the reason deadline_passed need it.
        max_cost: Dollars that the chain may cost, spent ones included; those that died with the reason cost_reached need it.
        redirect_to: Queue that gets them instead of their own, which must be gone: the one from which their type is handled now.
        canary: With --group: replay one, then ten, then the rest; stop at the first that fails in the same way again.
        wait: Wait until each is resolved or dead again.
        timeout: With --wait: the most seconds to wait.
    """
    selection = _selection(dead, wanted, all_=all_)
    decision: dict[str, Any] = {"by": who(by)} | ({"reason": why} if (why := (reason or "").strip()) else {})
    limits: dict[str, Any] = {} if deadline is None else {"deadline": deadline}
    limits |= {} if max_cost is None else {"max_cost": max_cost}
    limits |= {} if redirect_to is None else {"redirect_to": redirect_to}
    refused: dict[str, str] = {}
    if canary and limits:
        raise typer.BadParameter("goes without new limits and without --redirect-to", param_hint="--canary")
    decision |= limits
    if canary:
        if wanted.group is None or wanted.arguments.keys() != {"group"}:
            raise typer.BadParameter("goes with --group alone", param_hint="--canary")
        begun = monitor.begin_canary_replay(group=wanted.group, **decision)
        return show_canary(monitor, begun, timeout if wait else 0.0)

    def replay_some(**fields: Any) -> tuple[list[str], str | None]:
        begun = monitor.replay_dead_letters(**fields, **decision)
        return [each["id"] for each in begun["replays"]], begun["next"]

    if selection is None:
        started, refused = _each(dead or [], lambda one: monitor.replay_dead_letter(one, **decision))
    else:
        started = decide_all(monitor, selection, _REPLAY, replay_some, replayable=True, yes=yes)
    ended = _wait(monitor, started, timeout) if wait else {}
    outcomes = {one: _outcome(ended.get(one), waited=wait) for one in started}
    rows = [
        {
            "id": one,
            "outcome": each,
            "replaced_by": ended[one]["replaced_by"] if each == "dead_again" else None,
        }
        for one, each in outcomes.items()
    ]
    well = set(outcomes.values()) <= ({"handled"} if wait else {"replaying"})
    return Result(
        {"replayed": rows, "refused": _as_rows(refused)},
        remark=[*_told(outcomes, ended), *refused.values()],
        fails=not (started and not refused and well),
    )


@with_filters
def discard(
    monitor: Monitor,
    reason: Annotated[str, typer.Option()],
    dead: Ids = None,
    all_: All = False,
    *,
    wanted: DeadLetterSelection,
    by: By = None,
    yes: Yes = False,
) -> Result:
    """Closes dead letters without handling them. `restore` opens them again.

    For example:

        brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "brand was closed"
        brandctl dead-letters discard --group 5f0c3a9b1e77d204 --reason "a bad sender, now stopped"
        brandctl dead-letters discard --all --queue social-commands --reason "channel was given up"

    Options:
        reason: Why it need not be handled, stored with the decision.
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    selection = _selection(dead, wanted, all_=all_)
    decision: dict[str, Any] = {"by": who(by), "reason": reason}
    refused: dict[str, str] = {}

    def discard_some(**fields: Any) -> tuple[list[str], str | None]:
        done = monitor.discard_dead_letters(**fields, **decision)
        return done["ids"], done["next"]

    if selection is None:
        discarded, refused = _each(dead or [], lambda one: monitor.discard_dead_letter(one, **decision))
    else:
        discarded = decide_all(monitor, selection, _DISCARD, discard_some, replayable=False, yes=yes)
    each_told = [f"{one} discarded" for one in discarded]
    told = each_told if len(discarded) <= _TOLD_ONE_BY_ONE else [f"{len(discarded):,} discarded"]
    return Result(
        {"discarded": discarded, "refused": _as_rows(refused)},
        remark=[*told, *refused.values()],
        fails=bool(refused),
    )


@with_filters
def restore(
    monitor: Monitor,
    reason: Annotated[str, typer.Option()],
    dead: Ids = None,
    all_: All = False,
    *,
    wanted: DeadLetterSelection,
    by: By = None,
    yes: Yes = False,
) -> Result:
    """Opens discarded dead letters again, so that they can be replayed.

    One whose work was done since becomes resolved instead. One that was replayed before its discard stays discarded.

    For example:

        brandctl dead-letters restore 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "the brand is back"
        brandctl dead-letters restore --group 5f0c3a9b1e77d204 --reason "the wrong group"
        brandctl dead-letters restore --all --queue social-commands --reason "channel is back"

    Options:
        reason: Why it is to be decided about again, stored with the decision.
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    selection = _selection(dead, wanted, all_=all_)
    decision: dict[str, Any] = {"by": who(by), "reason": reason}
    refused: dict[str, str] = {}
    resolved = 0

    def restore_some(**fields: Any) -> tuple[list[str], str | None]:
        nonlocal resolved
        done = monitor.restore_dead_letters(**fields, **decision)
        resolved += done["resolved"]
        return done["ids"], done["next"]

    def restore_one(one: str) -> Any:
        nonlocal resolved
        letter = monitor.restore_dead_letter(one, **decision)
        resolved += letter["state"] == "resolved"
        return letter

    if selection is None:
        restored, refused = _each(dead or [], restore_one)
    else:
        restored = decide_all(monitor, selection, _RESTORE, restore_some, replayable=False, yes=yes)
    told = [f"{one} restored" for one in restored]
    if len(restored) > _TOLD_ONE_BY_ONE:
        told = [f"{len(restored):,} restored"]
    if resolved:
        told.append(f"{resolved:,} of them resolved at once: their work was done since")
    return Result(
        {"restored": restored, "resolved": resolved, "refused": _as_rows(refused)},
        remark=[*told, *refused.values()],
        fails=bool(refused),
    )


def _selection(
    dead: Sequence[str] | None, wanted: DeadLetterSelection, *, all_: bool
) -> DeadLetterSelection | None:
    """Returns the selection of the options; None if ids are given."""
    if bool(dead) == (all_ or wanted.group is not None):
        raise typer.BadParameter("give ids, or --all, or --group", param_hint="ID")
    if dead and wanted.arguments:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in wanted.arguments)
        raise typer.BadParameter("go with --all", param_hint=names)
    return None if dead else wanted


def _each(dead: Sequence[str], decide: Callable[[str], Any]) -> tuple[list[str], dict[str, str]]:
    done: list[str] = []
    refused: dict[str, str] = {}
    for one in dict.fromkeys(dead):
        try:
            done.append(decide(one)["id"])
        except ClientError as error:
            refused[one] = str(error)
    return done, refused


def _wait(monitor: Monitor, started: Sequence[str], timeout: float) -> dict[str, Any]:
    """Waits up to `timeout` seconds; returns id → outcome of the replays that ended."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    waiting = list(started)
    ended: dict[str, Any] = {}
    while True:
        for first in range(0, len(waiting), MAX_BULK):
            found = monitor.get_dead_letter_outcomes(ids=waiting[first : first + MAX_BULK])["outcomes"]
            ended |= {each["id"]: each for each in found if each["state"] != "replaying"}
        if len(started) > _TOLD_ONE_BY_ONE and len(waiting) > len(started) - len(ended):
            note(f"{len(ended):,} of {len(started):,} came to an end")
        waiting = [one for one in waiting if one not in ended]
        left = deadline - time.monotonic()
        if not waiting or left <= 0:
            return ended
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _outcome(outcome: Mapping[str, Any] | None, *, waited: bool) -> str:
    if outcome is None:
        return "waiting" if waited else "replaying"
    if outcome["replaced_by"] is not None:
        return "dead_again"
    return "handled" if outcome["state"] == "resolved" else str(outcome["state"])


_WORDS: Final = {
    "replaying": "sent again",
    "waiting": "sent again, no outcome yet",
    "dead_again": "died again",
}


def _told(outcomes: Mapping[str, str], ended: Mapping[str, Any]) -> list[str]:
    if len(outcomes) > _TOLD_ONE_BY_ONE:
        counts = Counter(outcomes.values())
        return [", ".join(f"{count:,} {_WORDS.get(outcome, outcome)}" for outcome, count in counts.items())]
    return [_in_words(one, outcome, ended.get(one)) for one, outcome in outcomes.items()]


def _in_words(one: str, outcome: str, ended: Mapping[str, Any] | None) -> str:
    text = f"{one} {_WORDS.get(outcome, outcome)}"
    if outcome == "waiting":
        return f"{text}: look later with `brandctl dead-letters show {one}`"
    return f"{text}, now as {ended['replaced_by']}" if outcome == "dead_again" and ended else text


def _as_rows(refused: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"id": one, "detail": message} for one, message in refused.items()]
