"""A signal that asks the command to stop is not lost."""

import os
import signal

import pytest

from brandctl import signals


class _Finalised:
    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_comes_while_an_object_is_finalised_is_raised_at_the_next_check() -> None:
    with signals.raised():
        signals.check()
        finalised: _Finalised | None = _Finalised()
        assert finalised is not None
        finalised = None
        with pytest.raises(signals.Interrupted) as raised:
            signals.check()
    assert raised.value.exit_code == 128 + signal.SIGTERM
    with signals.raised():
        signals.check()
