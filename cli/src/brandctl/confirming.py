"""Asking before something is done that cannot be undone."""

import sys
from typing import Annotated

import typer

from brandctl.errors import CommandError, UsageError
from brandctl.terminal import printable

Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


def type_again(name: str, question: str) -> None:
    """Goes on if the name is typed once more.

    Raises:
        UsageError: there is nobody to ask.
        CommandError: something else is typed.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to do it without being asked.")
    if typer.prompt(printable(f"{question} Type {name} to go on"), err=True) != name:
        raise CommandError("Nothing was done.")


def confirm(question: str) -> None:
    """Goes on if the answer is yes.

    Raises:
        UsageError: there is nobody to ask.
        CommandError: the answer is no.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to do it without being asked.")
    if not typer.confirm(printable(question), err=True):
        raise CommandError("Nothing was done.")
