"""`GET /v1/doctor`, for the API of every service that consumes; needs the extra `api`."""

from datetime import datetime
from typing import Annotated, Final, Self

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from messaging.doctor import Finding, Report, Status
from messaging.doctor.doctor import KEEP_SECONDS
from messaging.flow.transactions import Database

_OLDEST_SECONDS: Final = 3600


class ProbeView(View):
    """What one probe found."""

    probe: Annotated[str, Field(examples=["dead_letter_exchange"])]
    status: Status
    """`warning`: it works, and is not as it should be. `skipped`: not looked at, and `found` says why."""
    found: str
    advice: str
    """What to do; empty if nothing is to be done."""

    @classmethod
    def of(cls, finding: Finding) -> Self:
        return cls(probe=finding.probe, status=finding.status, found=finding.found, advice=finding.advice)


class DoctorReport(View):
    checked_at: datetime
    findings: tuple[ProbeView, ...]
    """Of the broker, then of the database."""

    @classmethod
    def of(cls, report: Report) -> Self:
        return cls(checked_at=report.checked_at, findings=tuple(map(ProbeView.of, report.findings)))


def doctor_routes(database: Database) -> APIRouter:
    """The route of the probes of this service's broker and database."""
    routes = router("/doctor", tags=["doctor"])

    @routes.get(
        "",
        summary="Probes of broker and database",
        # The servers are those of all brands.
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
    )
    async def check_servers(
        max_age_seconds: Annotated[
            int,
            Query(ge=KEEP_SECONDS, le=_OLDEST_SECONDS, description="A report of this age is new enough."),
        ] = KEEP_SECONDS,
    ) -> DoctorReport:
        """Probes the service's broker and database with the service's own users, and returns what each probe found.

        Probes leave nothing behind and touch no message. They take up to eight seconds.
        """
        return DoctorReport.of(await database.doctor.report(max_age_seconds))

    return routes
