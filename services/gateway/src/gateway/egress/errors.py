"""Errors of outgoing requests."""

from datetime import timedelta


class EgressError(Exception):
    """The request has no usable answer.

    Args:
        code: the kind of problem, for programs: `private_address`.
        problem: a sentence that says what is wrong and what to do.
    """

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class EgressRefusedError(EgressError):
    """A permanent error: the address is not permitted, or the answer is unusable."""


class EgressUnavailableError(EgressError):
    """A temporary error: retry after `after`, or later."""

    def __init__(self, code: str, problem: str, *, after: timedelta | None = None) -> None:
        super().__init__(code, problem)
        self.after = after
