"""Puts the simulated surroundings in the place of the real ones, for as long as a block lasts.

Replaced are the functions that run SQL, the subscription, the write of a publish, clocks and identities, and what only
costs time here: logs, traces and stack traces. Everything between runs as it is.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta, tzinfo
from types import ModuleType, SimpleNamespace
from typing import Any, Final, Self
from uuid import UUID

import opentelemetry.trace
import structlog

import chassis.observing.traces
import envelope.message
import messaging.broker.bulk_publish
import messaging.broker.publisher
import messaging.flow.failures
import messaging.flow.intake
import messaging.flow.relay
import messaging.flow.runner
import messaging.flow.settlement
import messaging.flow.transactions
import messaging.observing.spans
import messaging.storage.attempts
import messaging.storage.crashes
import messaging.storage.inbox
import messaging.storage.origins
import messaging.storage.outbox
import messaging.storage.sent
from faults.simulation import bodies
from faults.simulation.course import ScheduleCourse
from faults.simulation.database import tables
from faults.simulation.loop import PROCESS
from faults.simulation.process import SimulatedSubscription

_MODULES: Final[dict[str, ModuleType]] = {
    "attempts": messaging.storage.attempts,
    "inbox": messaging.storage.inbox,
    "origins": messaging.storage.origins,
    "outbox": messaging.storage.outbox,
    "sent": messaging.storage.sent,
    "crashes": messaging.storage.crashes,
}


Replacement = tuple[Any, str, Any]
"""(module or class, name, what it is instead)"""


class _CurrentSchedule:
    """The schedule that is running."""

    schedule: ScheduleCourse


now: Final = _CurrentSchedule()


class VirtualDatetime(datetime):
    """Its `now` is the schedule's, as the running process's own clock shows it."""

    @classmethod
    def now(cls, tz: tzinfo | None = UTC) -> Self:
        moment = bodies.EPOCH + timedelta(seconds=now.schedule.loop.now)
        process = PROCESS.get()
        if process is not None:
            moment += process.clock
        return moment.astimezone(tz)  # type: ignore[return-value]


class SilentLog:
    """A log that drops everything."""

    def _nothing(self, *_: object, **__: object) -> None:
        return None

    debug = info = warning = error = exception = _nothing

    def bind(self, **_: object) -> Self:
        return self


def _new_id() -> UUID:
    return now.schedule.new_id()


def _collect(publication: Any, _properties: bytes, channel: Any, _frame_max: int) -> Any:
    return channel.collect(publication)


def _replacements() -> Iterator[Replacement]:
    for owner, functions in tables.FUNCTIONS.items():
        for name, function in functions.items():
            yield _MODULES[owner], name, function
    yield messaging.flow.runner, "Subscription", SimulatedSubscription
    yield messaging.broker.bulk_publish, "marshal", _collect
    yield envelope.message, "uuid7", _new_id
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith(("chassis.", "messaging.")):
            if hasattr(module, "uuid4"):
                yield module, "uuid4", _new_id
            if getattr(module, "datetime", None) is datetime and "dead_letters" not in module_name:
                yield module, "datetime", VirtualDatetime
            if hasattr(module, "log"):
                yield module, "log", SilentLog()
    # Tracing is off, which is tested elsewhere; asking whether it is costs more than the rest of a schedule.
    yield messaging.observing.spans, "start_process_span", lambda *_, **__: opentelemetry.trace.INVALID_SPAN
    yield chassis.observing.traces, "current_headers", dict
    yield messaging.flow.failures, "traceback", SimpleNamespace(format_exception=lambda _: ["stack"])
    yield structlog.contextvars, "bind_contextvars", lambda **_: {}
    yield opentelemetry.trace, "use_span", lambda *_, **__: nullcontext()


@contextmanager
def installed(*more: Replacement) -> Iterator[None]:
    """Within the block, `messaging` works in the simulation, and nowhere else; with `more` replaced on top."""
    before: list[Replacement] = []
    try:
        for owner, name, value in (*_replacements(), *more):
            before.append((owner, name, vars(owner)[name]))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
