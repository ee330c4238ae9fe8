"""Confirmation before an action that cannot be undone."""

import sys

import typer

from brandctl.errors import CommandError, UsageError
from brandctl.terminal import printable


def type_again(name: str, question: str) -> None:
    """Returns if the user types the name again.

    Raises:
        UsageError: standard input is no terminal.
        CommandError: the user types something else.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to do it without being asked.")
    if typer.prompt(printable(f"{question} Type {name} to go on"), err=True) != name:
        raise CommandError("Nothing was done.")


def confirm(question: str) -> None:
    """Returns if the user answers yes.

    Raises:
        UsageError: standard input is no terminal.
        CommandError: the answer is no.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to do it without being asked.")
    if not typer.confirm(printable(question), err=True):
        raise CommandError("Nothing was done.")
