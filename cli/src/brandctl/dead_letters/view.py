"""Dead letters on a terminal: tables for people, tab-separated lines where the output goes elsewhere."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from brandctl.dead_letters.monitor import DeadLetter

_COLOURS: Final = {"open": "red", "replaying": "yellow", "resolved": "green", "discarded": "dim"}
_FACTS: Final = (
    "id", "state", "resolution", "queue", "type", "source", "event_id", "correlation_id", "reason", "exception_type",
    "detail", "frame", "attempts", "service", "first_failed_at", "failed_at", "recorded_at", "replayable",
    "replayed_at", "replay_event_id", "replay_of", "replaced_by", "resolved_at", "payload_bytes",
)  # fmt: skip


def show_list(console: Console, letters: Sequence[DeadLetter]) -> None:
    rows = [
        (str(one.id), one.state, one.queue, one.type or "-", one.reason, str(one.attempts), _time(one.failed_at), one.detail)
        for one in letters
    ]  # fmt: skip
    _show(console, ("id", "state", "queue", "type", "reason", "tries", "died", "detail"), rows)


def show_groups(console: Console, groups: Sequence[dict[str, Any]]) -> None:
    rows = [
        (
            str(group["count"]),
            group["queue"],
            group["reason"],
            group["exception_type"] or "-",
            group["frame"] or "-",
            group["newest_id"],
            group["newest_detail"],
        )
        for group in groups
    ]
    _show(console, ("count", "queue", "reason", "exception", "where", "newest", "its detail"), rows)


def show_full(console: Console, letter: dict[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name in _FACTS:
        if letter[name] is not None:
            table.add_row(
                Text(name, style="bold"), _coloured(name, _printable(str(letter[name]), keep_lines=True))
            )
    console.print(table, soft_wrap=not console.is_terminal)
    _section(console, "headers", json.dumps(letter["headers"], indent=2, ensure_ascii=False))
    if letter["stack"]:
        _section(console, "stack", letter["stack"])
    title = "payload (its beginning)" if letter["payload_truncated"] else "payload"
    if letter["payload_text"] is None:
        _section(console, title, json.dumps(letter["payload"], indent=2, ensure_ascii=False))
    else:
        _section(console, f"{title}, no JSON; --json has its bytes as base64", letter["payload_text"])


def _section(console: Console, title: str, text: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    console.print(Text(_printable(text.rstrip(), keep_lines=True)), soft_wrap=True)


def _show(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    clean = [[_printable(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for row in (headings, *clean):
            # Past the console, which would turn tabs into spaces.
            console.file.write("\t".join(row) + "\n")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        # Ids are there to be copied, so they are never cut.
        table.add_column(heading, no_wrap=heading in {"id", "newest"}, overflow="fold")
    for row in clean:
        table.add_row(
            *(_coloured(heading, _shortened(cell)) for heading, cell in zip(headings, row, strict=True))
        )
    console.print(table)


def _coloured(name: str, value: str) -> Text:
    return Text(value, style=_COLOURS.get(value, "") if name == "state" else "")


def _shortened(cell: str, limit: int = 160) -> str:
    return cell if len(cell) <= limit else f"{cell[: limit - 1]}…"


def _printable(text: str, *, keep_lines: bool = False) -> str:
    """Without control characters: what strangers sent must not steer the terminal."""
    kept = "\n\t" if keep_lines else ""

    def shown(character: str) -> str:
        if character.isprintable() or character in kept:
            return character
        return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"

    return "".join(map(shown, text))


def _time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
