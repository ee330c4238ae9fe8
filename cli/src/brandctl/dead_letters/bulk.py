"""Decides about many dead letters: counts them, asks for confirmation, then works in chunks and prints progress."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import typer

from brandctl.dead_letters.filters import DeadLetterSelection
from brandctl.errors import CommandError, UsageError
from brandctl.terminal import note
from client.errors import ClientError
from client.services.monitor import Monitor

MAX_BULK: Final = 500
"""The most dead letters of one request."""
_WORD_EVERY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class BulkAction:
    """The words for the action."""

    verb: str
    done: str
    state: Literal["open", "discarded"] = "open"
    """The state of the dead letters that it takes."""


def decide_all(
    monitor: Monitor,
    selection: DeadLetterSelection,
    action: BulkAction,
    decide: Callable[..., tuple[list[str], str | None]],
    *,
    replayable: bool,
    yes: bool,
) -> list[str]:
    """Decides about all that match, after a confirmation; returns their ids, oldest first.

    `decide` takes the fields of a request, decides about so many and returns their ids and the cursor of the next. Two such
    commands may run at once and share the dead letters. After an interruption, the same command does the rest.
    """
    page = monitor.list_dead_letters(
        state=action.state, replayable=True if replayable else None, limit=1, **selection.arguments
    )
    total = page["matching"]
    if total == 0:
        raise CommandError(f"No {action.state} dead letter that can be {action.done} matches.")
    if not yes:
        _confirm(f"{total:,} dead letter{'' if total == 1 else 's'}{selection.in_words}", action)
    done: list[str] = []
    after: str | None = None
    told = time.monotonic()
    while len(done) < total:
        # Only those that exist now: a replay that dies again at once must not be replayed a second time.
        chunk = {**selection.arguments, "until": page["now"], "limit": min(MAX_BULK, total - len(done))}
        try:
            found, after = decide(**chunk, **({"after": after} if after else {}))
        except ClientError:
            note(f"{len(done):,} of {total:,} {action.done}; the same command continues with the rest.")
            raise
        done += found
        if after is None:
            break
        if time.monotonic() - told >= _WORD_EVERY_SECONDS:
            note(f"{len(done):,} of {total:,} {action.done}")
            told = time.monotonic()
    return done


def _confirm(what: str, action: BulkAction) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"This would {action.verb} {what}. Add --yes to confirm.")
    if not typer.confirm(f"{action.verb.capitalize()} {what}?", err=True):
        raise CommandError(f"Nothing was {action.done}.")
