"""Errors that end a command, each with its exit code; a command that succeeds exits with 0."""

from typing import ClassVar, Final

from client.errors import ClientError


class CommandError(Exception):
    """Nothing was found, or something failed. The message is for the person at the terminal, and says what to do."""

    exit_code: ClassVar[int] = 1


class UsageError(CommandError):
    """An argument or option is wrong or missing."""

    exit_code: ClassVar[int] = 2


FAILURES: Final = (CommandError, ClientError)
"""What may end a command with a sentence: its own errors, and those of calls."""
