"""What ends a command before it is done. Every command ends with 0 if it did what was asked, or with one of these."""

from typing import ClassVar


class CommandError(Exception):
    """Nothing was found, or something failed. The message is for the person at the terminal, and says what to do."""

    exit_code: ClassVar[int] = 1


class UsageError(CommandError):
    """What was asked for was wrong, or something that it takes was not given."""

    exit_code: ClassVar[int] = 2
