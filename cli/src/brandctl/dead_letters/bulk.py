"""Decides about many dead letters: counts them, asks for confirmation, then works in chunks and prints progress."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import typer

from brandctl.asking import ServiceError
from brandctl.dead_letters.monitor import MAX_BULK, DeadLetterSelection, DecidedChunk, MonitorClient
from brandctl.errors import CommandError, UsageError
from brandctl.terminal import note

_WORD_EVERY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class BulkAction:
    """The words for the action."""

    verb: str
    done: str


def matching(
    monitor: MonitorClient, selection: DeadLetterSelection, deed: BulkAction, *, replayable: bool, yes: bool
) -> DeadLetterSelection:
    """Counts the matching dead letters and asks for confirmation; ends the command without a match or a yes."""
    page = monitor.page(
        state="open",
        queue=selection.queue,
        type=selection.type_name,
        group=selection.group,
        replayable=True if replayable else None,
        limit=1,
    )
    if page.matching == 0:
        raise CommandError(f"No open dead letter that can be {deed.done} matches.")
    # Only those that exist now: a replay that dies again at once must not be replayed a second time.
    chosen = selection.of(page.matching, until=page.now)
    if not yes:
        _confirm(chosen, deed)
    return chosen


def go_through(
    chosen: DeadLetterSelection, deed: BulkAction, piece: Callable[[str | None, int], DecidedChunk]
) -> list[str]:
    """Calls `piece(after, limit)` until all are decided; returns the ids, oldest first.

    Two such commands may run at once and share the dead letters. After an interruption, the same command does the rest.
    """
    done: list[str] = []
    after: str | None = None
    told = time.monotonic()
    while len(done) < chosen.count:
        try:
            found = piece(after, min(MAX_BULK, chosen.count - len(done)))
        except ServiceError:
            note(f"{len(done):,} of {chosen.count:,} {deed.done}; the same command continues with the rest.")
            raise
        done += found.ids
        after = found.next
        if after is None:
            break
        if time.monotonic() - told >= _WORD_EVERY_SECONDS:
            note(f"{len(done):,} of {chosen.count:,} {deed.done}")
            told = time.monotonic()
    return done


def _confirm(chosen: DeadLetterSelection, deed: BulkAction) -> None:
    what = f"{chosen.count:,} dead letter{'' if chosen.count == 1 else 's'}{chosen.in_words}"
    if not sys.stdin.isatty():
        raise UsageError(f"This would {deed.verb} {what}. Add --yes to confirm.")
    if not typer.confirm(f"{deed.verb.capitalize()} {what}?", err=True):
        raise CommandError(f"Nothing was {deed.done}.")
