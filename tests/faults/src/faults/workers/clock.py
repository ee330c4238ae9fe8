"""A wrong clock for this process only, adjustable while it runs.

For Python code that asks `time.time`, `datetime.now` or our UUIDv7. Waiting goes by the monotonic clock, as it does on a
machine whose clock is set.
"""

import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from types import ModuleType
from typing import Any, Final, Self
from uuid import UUID

import structlog

from envelope import message

log = structlog.get_logger(__name__)

_real_time: Final = time.time
_real_time_ns: Final = time.time_ns
_real_uuid7: Final[Callable[[], UUID]] = vars(message)["uuid7"]
_MILLISECONDS_SHIFT: Final = 80
_wrong_by = 0.0
"""Seconds that this process is ahead."""


class _AcceptsRealDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime)


class _ShiftedDatetime(datetime, metaclass=_AcceptsRealDatetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(seconds=_wrong_by)

    @classmethod
    def utcnow(cls) -> Self:
        return super().utcnow() + timedelta(seconds=_wrong_by)


def set_wrong(*, by: float, then: float) -> None:
    """Puts this process `by` seconds ahead (or behind, if negative), and at SIGUSR1 `then` seconds instead.

    Call it once, when everything is imported.
    """
    time.time = lambda: _real_time() + _wrong_by
    time.time_ns = lambda: _real_time_ns() + int(_wrong_by * 1e9)
    vars(message)["uuid7"] = _uuid7
    for module in list(sys.modules.values()):
        _exchange(module)
    _step(by)
    signal.signal(signal.SIGUSR1, lambda *_: _step(then))


def _exchange(module: ModuleType) -> None:
    if not module.__name__.startswith(("messaging", "envelope", "structlog")):
        return
    for name, value in list(vars(module).items()):
        if value is datetime:
            setattr(module, name, _ShiftedDatetime)
        elif name == "datetime" and isinstance(value, ModuleType):
            setattr(module, name, _DatetimeModule(value))


class _DatetimeModule:
    """The module `datetime`, with its class exchanged."""

    def __init__(self, original: ModuleType) -> None:
        self._original = original
        self.datetime = _ShiftedDatetime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _uuid7() -> UUID:
    ahead = int(_wrong_by * 1000) << _MILLISECONDS_SHIFT
    return UUID(int=_real_uuid7().int + ahead)


def _step(seconds: float) -> None:
    global _wrong_by  # noqa: PLW0603  (there is one clock in a process)
    _wrong_by = seconds
    log.warning("clock_set", wrong_by_seconds=seconds)
