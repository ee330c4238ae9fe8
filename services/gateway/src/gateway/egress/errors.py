"""Why something was not got from outside, in our words."""

from datetime import timedelta


class EgressError(Exception):
    """Nothing usable came of it.

    Args:
        code: the kind of problem, as programs know it: `private_address`.
        problem: the same as a sentence that says what to do where there is something to do.
    """

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class RefusedError(EgressError):
    """It would be the same tomorrow: we do not ask that, or what is there is not to be had."""


class PassingError(EgressError):
    """It may be another time: ask again after `after`, or when it suits."""

    def __init__(self, code: str, problem: str, *, after: timedelta | None = None) -> None:
        super().__init__(code, problem)
        self.after = after
