"""Dead letters as text: a few lines for each on a terminal, tab-separated lines elsewhere."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brandctl.dead_letters.code_changes import in_words
from brandctl.tables import show_table
from brandctl.terminal import printable

_COLOURS: Final = {"open": "red", "replaying": "yellow", "resolved": "green", "discarded": "dim"}
_FACTS: Final = (
    "id", "state", "resolution", "queue", "type", "source", "event_id", "correlation_id", "reason", "exception_type",
    "detail", "frame", "group", "attempts", "service", "version", "code", "code_since", "first_failed_at", "failed_at", "recorded_at", "replayable",
    "replayed_at", "replay_event_id", "replay_of", "replaced_by", "resolved_at", "decided_by", "decided_why",
    "payload_bytes",
)  # fmt: skip
_TOLD_ALREADY: Final = "failure-"
"""Prefix of headers that the facts and the stack already show."""


def show_list(console: Console, letters: Sequence[dict[str, Any]]) -> None:
    if not console.is_terminal:
        rows = [
            (one["id"], one["state"], one["queue"], one["type"] or "-", one["reason"], str(one["attempts"]), _time(one["failed_at"]), one["detail"])
            for one in letters
        ]  # fmt: skip
        show_table(("id", "state", "queue", "type", "reason", "tries", "died", "detail"), rows)
        return
    for one in letters:
        tries = f"{one['attempts']} {'try' if one['attempts'] == 1 else 'tries'}"
        _line(
            console,
            one["id"],
            (one["state"], _COLOURS.get(one["state"], "")),
            (_time(one["failed_at"]), ""),
            (tries, "dim"),
        )
        _line(console, f"  {one['queue']}", (one["type"] or "-", ""), (one["reason"], "bold"))
        _line(console, f"  {one['detail']}")


def show_groups(console: Console, groups: Sequence[dict[str, Any]]) -> None:
    if not console.is_terminal:
        rows = [
            (
                str(group["count"]),
                group["queue"],
                group["reason"],
                group["exception_type"] or "-",
                group["frame"] or "-",
                group["newest_id"],
                group["newest_detail"],
                group["group"],
                in_words(group["code_since"]) or "-",
            )
            for group in groups
        ]
        headings = ("count", "queue", "reason", "exception", "where", "newest", "its detail", "group", "code")
        show_table(headings, rows)
        return
    for group in groups:
        _line(
            console,
            group["group"],
            (f"{group['count']:,}", "bold red"),
            (group["queue"], ""),
            (group["reason"], "bold"),
        )
        _line(console, f"  {group['exception_type'] or '-'}", (group["frame"] or "-", ""))
        _line(console, f"  newest {group['newest_id']}")
        _line(console, f"  {group['newest_detail']}")
        if told := in_words(group["code_since"]):
            _line(console, f"  {told}")


def show_full(console: Console, letter: dict[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name in _FACTS:
        if letter.get(name) is not None:  # an older monitor knows fewer
            value = printable(str(letter[name]), keep_lines=True)
            style = _COLOURS.get(value, "") if name == "state" else ""
            table.add_row(Text(name, style="bold"), Text(value, style=style))
    console.print(table, soft_wrap=not console.is_terminal)
    headers = {name: value for name, value in letter["headers"].items() if not name.startswith(_TOLD_ALREADY)}
    _section(console, "headers", json.dumps(headers, indent=2, ensure_ascii=False))
    if letter["stack"]:
        _section(console, "stack", letter["stack"])
    title = "payload (its beginning)" if letter["payload_truncated"] else "payload"
    if hidden := letter.get("payload_hidden"):
        title += f" (hidden: {printable(', '.join(hidden))}; --raw shows them)"
    if letter["payload_text"] is None:
        _section(console, title, json.dumps(letter["payload"], indent=2, ensure_ascii=False))
    else:
        _section(console, f"{title}, no JSON; --raw --json has its bytes as base64", letter["payload_text"])


def _section(console: Console, title: str, text: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    console.print(Text(printable(text.rstrip(), keep_lines=True)), soft_wrap=True)


def _line(console: Console, first: str, *rest: tuple[str, str]) -> None:
    """Prints one line, cut at the terminal's edge; a table would break such long cells into small pieces."""
    line = Text(printable(first))
    for text, style in rest:
        line.append("  ").append(printable(text), style=style)
    console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def _time(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
