"""What a probe found, and the time limit of probes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from chassis import redaction
from chassis.database.pool import DatabaseUnavailableError
from messaging.errors import BROKER_ERRORS
from messaging.topology.users import UsersError

log = structlog.get_logger(__name__)

PROBE_SECONDS: Final = 5.0
"""A probe without an answer after so long counts as failed."""
GROUP_SECONDS: Final = 8.0
"""Probes of one server that have not begun after so long are left out: callers do not wait much longer."""
_LONGEST_TEXT: Final = 500


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Works, and is not as it should be."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """Not looked at, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of one probe."""

    probe: str
    """A constant name, such as `dead_letter_exchange`."""
    status: Status
    found: str
    """One or two sentences."""
    advice: str = ""
    """What to do; empty if all is well."""


Probe = Callable[[], Awaitable[Finding]]


async def run_in_turn(
    probes: Sequence[tuple[str, Probe]], *, skip_rest_if_first_fails: bool = True
) -> list[Finding]:
    """Runs the probes of one server one after another, each with its time limit; raises nothing.

    `skip_rest_if_first_fails`: the first probe is the connection that the others need.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + GROUP_SECONDS
    found: list[Finding] = []
    for name, probe in probes:
        seconds = min(PROBE_SECONDS, end - loop.time())
        if found and skip_rest_if_first_fails and found[0].status is Status.FAILED:
            found.append(Finding(name, Status.SKIPPED, f"Not looked at: {found[0].probe} failed."))
        elif seconds <= 0:
            found.append(Finding(name, Status.SKIPPED, "Not looked at: the probes before took too long."))
        else:
            found.append(await _run(name, probe, seconds))
    return found


async def _run(name: str, probe: Probe, seconds: float) -> Finding:
    try:
        async with asyncio.timeout(seconds):
            return await probe()
    except TimeoutError:
        return Finding(
            name,
            Status.FAILED,
            f"No answer within {seconds:.0f} seconds.",
            "Look at the load and at the log of the server, and at the network in between.",
        )
    except (*BROKER_ERRORS, DatabaseUnavailableError, UsersError) as error:
        return Finding(
            name,
            Status.FAILED,
            f"The server cannot be reached, or refuses: {told(error)}",
            "Start the server, or correct its address or its password in the settings of the service.",
        )
    except Exception as error:
        log.exception("doctor_probe_failed", probe=name)
        return Finding(
            name, Status.FAILED, f"The probe itself failed: {told(error)}", "Look at the log of the service."
        )


def told(error: BaseException) -> str:
    """The text of an error without secrets."""
    text = redaction.text(f"{type(error).__name__}: {error}".removesuffix(": "))
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
