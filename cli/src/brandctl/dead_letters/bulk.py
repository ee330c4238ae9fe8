"""Many dead letters at once: counted and confirmed first, then gone through in pieces, with word of how far it is."""

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
    """What is done to them, in words."""

    verb: str
    done: str


def matching(
    monitor: MonitorClient, selection: DeadLetterSelection, deed: BulkAction, *, replayable: bool, yes: bool
) -> DeadLetterSelection:
    """What matches at this moment, once somebody has agreed to it; ends the command if nothing does, or nobody has."""
    page = monitor.page(
        state="open",
        queue=selection.queue,
        type=selection.type_name,
        group=selection.group,
        replayable=True if replayable else None,
        limit=1,
    )
    if page.matching == 0:
        raise CommandError(f"No open dead letter that could be {deed.done} matches.")
    # Only what was there when we asked: a replay that dies again at once must not be taken in a second time.
    chosen = selection.of(page.matching, until=page.now)
    if not yes:
        _confirm(chosen, deed)
    return chosen


def go_through(
    chosen: DeadLetterSelection, deed: BulkAction, piece: Callable[[str | None, int], DecidedChunk]
) -> list[str]:
    """Has `piece(after, limit)` done for one piece after the other; returns the ids of all of them, oldest first.

    Somebody else may be at the same: what they get is theirs. Broken off half-way, the same command does the rest.
    """
    done: list[str] = []
    after: str | None = None
    told = time.monotonic()
    while len(done) < chosen.count:
        try:
            found = piece(after, min(MAX_BULK, chosen.count - len(done)))
        except ServiceError:
            note(f"{len(done):,} of {chosen.count:,} {deed.done}; the same command goes on with the rest.")
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
        raise UsageError(f"This would {deed.verb} {what}. Add --yes to do it without being asked.")
    if not typer.confirm(f"{deed.verb.capitalize()} {what}?", err=True):
        raise CommandError(f"Nothing was {deed.done}.")
