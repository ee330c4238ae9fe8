"""Writes the reference of all commands as Markdown, from their help: `python -m brandctl.reference docs/reference/brandctl.md`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from brandctl import plain_help
from brandctl.app import assemble

WIDTH: Final = 100
"""Columns of the help."""
_INTRODUCTION: Final = """\
# Commands of brandctl

Every command with its arguments and options, as `brandctl … --help` prints them. `make schemas` makes this page.
[The command's own page](../../cli/README.md) says where it runs, how it finds the services, and what its exit codes mean.
"""


def reference() -> str:
    """Returns the page."""
    command: Any = get_command(assemble())
    plain_help.apply(command)
    context = command.context_class(
        command, info_name="brandctl", terminal_width=WIDTH, max_content_width=WIDTH
    )
    return "\n".join([_INTRODUCTION, *_sections(command, context)])


def _sections(group: Any, context: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        below = command.context_class(command, parent=context, info_name=name)
        words = below.command_path.split()[1:]
        # Every command has the last option.
        shown = (line for line in below.get_help().splitlines() if not line.startswith("  --help "))
        lines = "\n".join(line.rstrip() for line in shown)
        if len(words) == 1 or not getattr(command, "commands", None):
            yield f"{'#' * min(len(words) + 1, 3)} {' '.join(words)}\n\n```\n{lines}\n```\n"
        if getattr(command, "commands", None):
            yield from _sections(command, below)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
