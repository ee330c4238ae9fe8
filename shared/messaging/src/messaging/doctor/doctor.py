"""Runs the probes of one service: one run at a time, whose report is kept for some seconds."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from chassis.database.pool import Connections
from envelope import Catalogue
from messaging.broker.publisher import Publisher
from messaging.doctor.broker import BrokerProbes
from messaging.doctor.database import database_probes
from messaging.doctor.findings import Finding, Probe, Status, run_in_turn

log = structlog.get_logger(__name__)

KEEP_SECONDS: Final = 10
"""How long a report answers further callers, unless they take an older one."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one run."""

    checked_at: datetime
    """End of the run, by the clock of the process."""
    findings: tuple[Finding, ...]


def _now() -> datetime:
    return datetime.now(UTC)


class Doctor:
    """Probes the broker and the database of one service, with the service's own users.

    Probes leave nothing behind and touch no message.

    Args:
        connections: of the service's database.
        publisher: knows the broker, and whether it takes messages.
        service: its name in the catalogue.
        catalogue: says what the topology should be.
        now: the clock of the process.
    """

    def __init__(
        self,
        connections: Connections,
        publisher: Publisher,
        service: str,
        catalogue: Catalogue,
        *,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._connections = connections
        self._publisher = publisher
        self._service = service
        self._catalogue = catalogue
        self._now = now
        self._running = asyncio.Lock()
        self._kept: tuple[float, Report] | None = None
        self._own: list[tuple[str, Probe]] = []

    def also(self, name: str, probe: Probe) -> None:
        """Adds a probe of the service's own, which runs after the others."""
        self._own.append((name, probe))

    def known(self, max_age: float) -> Report | None:
        """The report of a run that ended at most `max_age` seconds ago; None if there is none."""
        if self._kept is None or asyncio.get_running_loop().time() - self._kept[0] > max_age:
            return None
        return self._kept[1]

    async def report(self, max_age: float = KEEP_SECONDS) -> Report:
        """Runs all probes, or returns the report of a run that ended at most `max_age` seconds ago; raises nothing."""
        async with self._running:
            report = self.known(max_age)
            if report is None:
                findings = await self._run()
                report = Report(self._now(), findings)
                self._kept = asyncio.get_running_loop().time(), report
            return report

    async def log_failures(self) -> None:
        """Runs all probes and logs what failed."""
        for each in (await self.report()).findings:
            if each.status is Status.FAILED:
                log.error("doctor_found", probe=each.probe, found=each.found, hint=each.advice)

    async def _run(self) -> tuple[Finding, ...]:
        broker, database = await asyncio.gather(
            BrokerProbes(self._publisher, self._service, self._catalogue).run(),
            run_in_turn(database_probes(self._connections, self._service, self._now)),
        )
        own = await run_in_turn(self._own, skip_rest_if_first_fails=False)
        return (*broker, *database, *own)
