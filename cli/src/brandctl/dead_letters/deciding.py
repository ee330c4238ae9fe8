"""`brandctl dead-letters replay` and `discard`."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.dead_letters.arguments import (
    By,
    Everything,
    Group,
    Queue,
    TypeName,
    Yes,
    who,
)
from brandctl.dead_letters.bulk import BulkAction, go_through, matching
from brandctl.dead_letters.monitor import (
    MAX_BULK,
    DeadLetterSelection,
    DecisionNote,
    MonitorClient,
    MonitorUrl,
    ReplayOutcome,
)
from brandctl.short_ids import parse_reference
from brandctl.terminal import note, print_json

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_TOLD_ONE_BY_ONE: Final = 20
"""With more than this, the report has counts, and single lines only for those that did not end well."""
_REPLAY: Final = BulkAction("replay", "replayed")
_DISCARD: Final = BulkAction("discard", "discarded")


def replay(
    dead: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", parser=parse_reference, help="Ids out of `list`.")
    ] = None,
    everything: Everything = False,
    group: Group = None,
    queue: Queue = None,
    type_name: TypeName = None,
    reason: Annotated[str | None, typer.Option(help="Reason, stored with the decision.")] = None,
    by: By = None,
    yes: Yes = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is resolved or dead again.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="With --wait: the most seconds to wait.")] = 120.0,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sends dead messages to their queues again. Do it once the cause is gone.

    A replay is a new message of the same chain. Its dead letter is resolved when the consumer has handled it; if it
    dies again, a new dead letter takes the old one's place. With --wait, exit code 0 means that all were handled.

    For example:

        brandctl dead-letters replay 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --wait
        brandctl dead-letters replay --group 5f0c3a9b1e77d204 --reason "template mended"
        brandctl dead-letters replay --all --queue publisher-commands
        brandctl dead-letters replay --all --type content.publish --yes --json
    """
    selection = _selection(dead, queue, type_name, group, everything=everything)
    decision = DecisionNote(who(by), (reason or "").strip() or None)
    refused: dict[str, str] = {}
    with MonitorClient.at(monitor_url, key_file) as monitor:
        if selection is None:
            started, refused = _each(dead or [], lambda one: monitor.replay(one, decision))
        else:
            chosen = matching(monitor, selection, _REPLAY, replayable=True, yes=yes)
            started = go_through(
                chosen, _REPLAY, lambda after, limit: monitor.replay_many(chosen, decision, after, limit)
            )
        ended = _wait(monitor, started, timeout) if wait else {}
    outcomes = {one: _outcome(ended.get(one), waited=wait) for one in started}
    if as_json:
        print_json(_replay_report(outcomes, refused, ended))
    _report_replays(outcomes, refused, ended)
    well = set(outcomes.values()) <= ({"handled"} if wait else {"replaying"})
    raise typer.Exit(0 if started and not refused and well else 1)


def discard(
    reason: Annotated[str, typer.Option(help="Why it need not be handled, stored with the decision.")],
    dead: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", parser=parse_reference, help="Ids out of `list`.")
    ] = None,
    everything: Everything = False,
    group: Group = None,
    queue: Queue = None,
    type_name: TypeName = None,
    by: By = None,
    yes: Yes = False,
    as_json: AsJson = False,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Closes dead letters for good, without handling them.

    For example:

        brandctl dead-letters discard 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --reason "brand was closed"
        brandctl dead-letters discard --group 5f0c3a9b1e77d204 --reason "a bad sender, now stopped"
        brandctl dead-letters discard --all --queue social-commands --reason "channel was given up"
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    selection = _selection(dead, queue, type_name, group, everything=everything)
    decision = DecisionNote(who(by), reason)
    refused: dict[str, str] = {}
    with MonitorClient.at(monitor_url, key_file) as monitor:
        if selection is None:
            discarded, refused = _each(dead or [], lambda one: monitor.discard(one, decision))
        else:
            chosen = matching(monitor, selection, _DISCARD, replayable=False, yes=yes)
            discarded = go_through(
                chosen, _DISCARD, lambda after, limit: monitor.discard_many(chosen, decision, after, limit)
            )
    if as_json:
        print_json({"discarded": discarded, "refused": _as_rows(refused)})
    if len(discarded) <= _TOLD_ONE_BY_ONE:
        for one in discarded:
            note(f"{one} discarded")
    else:
        note(f"{len(discarded):,} discarded")
    for message in refused.values():
        note(message)
    raise typer.Exit(1 if refused else 0)


def _selection(
    dead: Sequence[str] | None,
    queue: str | None,
    type_name: str | None,
    group: str | None,
    *,
    everything: bool,
) -> DeadLetterSelection | None:
    """Returns the selection of the options; None if ids are given."""
    if bool(dead) == (everything or group is not None):
        raise typer.BadParameter("give ids, or --all, or --group", param_hint="ID")
    if dead and (queue or type_name):
        raise typer.BadParameter("go with --all", param_hint="--queue and --type")
    return None if dead else DeadLetterSelection(queue, type_name, group)


def _each(dead: Sequence[str], do: Callable[[str], Any]) -> tuple[list[str], dict[str, str]]:
    done: list[str] = []
    refused: dict[str, str] = {}
    for one in dict.fromkeys(dead):
        try:
            done.append(str(do(one).id))
        except ServiceError as error:
            refused[one] = str(error)
    return done, refused


def _wait(monitor: MonitorClient, started: Sequence[str], timeout: float) -> dict[str, ReplayOutcome]:
    """Waits up to `timeout` seconds; returns id → outcome of the replays that ended."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    waiting = list(started)
    ended: dict[str, ReplayOutcome] = {}
    while True:
        for first in range(0, len(waiting), MAX_BULK):
            for outcome in monitor.outcomes(waiting[first : first + MAX_BULK]):
                if outcome.state != "replaying":
                    ended[str(outcome.id)] = outcome
        if len(started) > _TOLD_ONE_BY_ONE and len(waiting) > len(started) - len(ended):
            note(f"{len(ended):,} of {len(started):,} came to an end")
        waiting = [one for one in waiting if one not in ended]
        left = deadline - time.monotonic()
        if not waiting or left <= 0:
            return ended
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _outcome(outcome: ReplayOutcome | None, *, waited: bool) -> str:
    if outcome is None:
        return "waiting" if waited else "replaying"
    if outcome.died_again:
        return "dead_again"
    return "handled" if outcome.state == "resolved" else outcome.state


def _replay_report(
    outcomes: dict[str, str], refused: dict[str, str], ended: dict[str, ReplayOutcome]
) -> dict[str, Any]:
    def row(one: str, outcome: str) -> dict[str, Any]:
        replaced = str(ended[one].replaced_by) if outcome == "dead_again" else None
        return {"id": one, "outcome": outcome, "replaced_by": replaced}

    return {"replayed": [row(*each) for each in outcomes.items()], "refused": _as_rows(refused)}


def _report_replays(
    outcomes: dict[str, str], refused: dict[str, str], ended: dict[str, ReplayOutcome]
) -> None:
    if len(outcomes) > _TOLD_ONE_BY_ONE:
        counts = Counter(outcomes.values())
        note(", ".join(f"{count:,} {_WORDS.get(outcome, outcome)}" for outcome, count in counts.items()))
    else:
        for one, outcome in outcomes.items():
            note(_in_words(one, outcome, ended.get(one)))
    for message in refused.values():
        note(message)


_WORDS: Final = {
    "replaying": "sent again",
    "waiting": "sent again, no outcome yet",
    "dead_again": "died again",
}


def _in_words(one: str, outcome: str, ended: ReplayOutcome | None) -> str:
    text = f"{one} {_WORDS.get(outcome, outcome)}"
    if outcome == "waiting":
        return f"{text}: look later with `brandctl dead-letters show {one}`"
    return f"{text}, now as {ended.replaced_by}" if outcome == "dead_again" and ended is not None else text


def _as_rows(refused: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": one, "detail": message} for one, message in refused.items()]
