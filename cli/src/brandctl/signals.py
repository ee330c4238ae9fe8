"""SIGINT, SIGTERM and SIGHUP as one exception."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_ASKING_TO_STOP: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asks the process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class _LastSignal:
    number: int | None = None


@contextmanager
def raised() -> Iterator[None]:
    """Within the block, the first such signal raises `Interrupted`; further ones are ignored, so that clean-up finishes."""
    # With `nohup`, the run goes on after its terminal.
    wanted = [
        number
        for number in _ASKING_TO_STOP
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]
    _LastSignal.number = None
    before = {number: signal.signal(number, _raise) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check() -> None:
    """Raises `Interrupted` again if a signal has come: Python drops what is raised while an object is finalised."""
    if _LastSignal.number is not None:
        raise Interrupted(_LastSignal.number)


def ignore() -> None:
    """Ignores these signals from now on."""
    for number in _ASKING_TO_STOP:
        signal.signal(number, signal.SIG_IGN)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    ignore()
    _LastSignal.number = number
    raise Interrupted(number)
