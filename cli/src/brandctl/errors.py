"""What a command ends with when it cannot do what it was asked to."""


class CommandError(Exception):
    """The message is for the person at the terminal, and says what to do."""
