"""HTTP routes for alerts and silences."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import structlog
from fastapi import APIRouter

from chassis.http.api import UNKNOWN, needs, router
from chassis.http.callers import Caller, Scope
from chassis.http.client import PassingError, UnusableAnswerError
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from messaging import Database
from monitor import problem_codes as codes
from monitor.alerts import domain, store
from monitor.alerts.clients import AlertmanagerClient, PrometheusClient, SilenceRefusedError
from monitor.alerts.domain import Alert, Rule, Silence
from monitor.alerts.models import (
    AcknowledgeAlertRequest,
    AcknowledgementView,
    AlertAcknowledged,
    AlertRuleView,
    AlertSilenced,
    AlertSourceView,
    AlertsView,
    AlertView,
    EndSilenceRequest,
    SilenceAlertRequest,
    SilenceEnded,
    SilenceView,
)

log = structlog.get_logger(__name__)
_OPERATOR: Final = needs(Scope.OPERATE, of_all_brands=True)
"""Alerts are about the whole installation."""
_AWAY: Final = (PassingError, UnusableAnswerError)
MOST_SHOWN: Final = 500


class AlertSources:
    """What is connected, and what it tells of."""

    def __init__(
        self,
        database: Database,
        prometheus: PrometheusClient | None,
        alertmanager: AlertmanagerClient | None,
        runbooks: str | None,
    ) -> None:
        self._database = database
        self._prometheus = prometheus
        self.alertmanager = alertmanager
        self._runbooks = runbooks

    async def read(self) -> AlertsView:
        """Reads both, as far as they answer."""
        rules, firing, rules_problem = await self._read_rules()
        alerts, silences, problem = await self._read_alerts()
        if self.alertmanager is None:
            alerts = firing
        async with self._database.connection() as connection:
            seen = await store.find(connection)
            now: datetime = await connection.fetchval("select clock_timestamp()")
        return AlertsView(
            prometheus=AlertSourceView(is_connected=self._prometheus is not None, problem=rules_problem),
            alertmanager=AlertSourceView(is_connected=self.alertmanager is not None, problem=problem),
            alerts=tuple(
                AlertView.of(each, seen.get((each.id, each.began_at)), self._runbooks)
                for each in domain.sorted_alerts(alerts)[:MOST_SHOWN]
            ),
            rules=tuple(AlertRuleView.of(each, self._runbooks) for each in rules[:MOST_SHOWN]),
            silences=tuple(map(SilenceView.of, silences[:MOST_SHOWN])),
            now=now,
        )

    async def find(self, alert_id: str) -> Alert:
        """Raises RefusalError: it does not fire, or its source does not answer."""
        alerts, _, problem = await self._read_alerts()
        if self.alertmanager is None:
            _, alerts, problem = await self._read_rules()
        if problem is not None:
            raise RefusalError(codes.ALERTS_NOT_READ, problem)
        found = next((each for each in alerts if each.id == alert_id), None)
        if found is None:
            raise RefusalError(
                codes.UNKNOWN_ALERT, f"no alert {alert_id} fires; GET /v1/alerts lists those that do"
            )
        return found

    async def _read_rules(self) -> tuple[list[Rule], list[Alert], str | None]:
        if self._prometheus is None:
            return [], [], None
        try:
            rules, firing = await self._prometheus.rules()
        except _AWAY as error:
            return [], [], str(error)
        return rules, firing, None

    async def _read_alerts(self) -> tuple[list[Alert], list[Silence], str | None]:
        if self.alertmanager is None:
            return [], [], None
        try:
            return await self.alertmanager.alerts(), await self.alertmanager.silences(), None
        except _AWAY as error:
            return [], [], str(error)


def alert_routes(
    database: Database,
    prometheus: PrometheusClient | None = None,
    alertmanager: AlertmanagerClient | None = None,
    *,
    runbooks: str | None = None,
) -> APIRouter:
    """The routes; without an address of Prometheus or Alertmanager, their parts are empty. Below `runbooks` are the runbooks."""
    routes = router("/alerts", tags=["alerts"])
    sources = AlertSources(database, prometheus, alertmanager, runbooks)

    @routes.get("", summary="Alerts, rules and silences", dependencies=[_OPERATOR])
    async def get_alerts() -> AlertsView:
        """Returns what Prometheus and Alertmanager say now, with who has seen an alert. A part that does not answer is empty."""
        return await sources.read()

    @routes.post("/{alert_id}/acknowledge", summary="Acknowledge an alert", responses=UNKNOWN)
    async def acknowledge_alert(
        caller: Annotated[Caller, _OPERATOR], alert_id: str, request: AcknowledgeAlertRequest
    ) -> AlertAcknowledged:
        """Tells others that you have seen it. It says nothing to Alertmanager, which goes on telling people of it: silence it for that.

        It holds until the alert ends. If two people acknowledge it, the first one stays.
        """
        alert = await sources.find(alert_id)
        async with database.transaction() as tx:
            is_new = await store.acknowledge(
                tx.connection, alert, by=request.by or caller.name, note=request.note
            )
            found = (await store.find(tx.connection))[alert.id, alert.began_at]
        return AlertAcknowledged(is_changed=is_new, acknowledged=AcknowledgementView.of(found))

    @routes.post("/{alert_id}/silence", summary="Silence an alert until a time", responses=UNKNOWN)
    async def set_alert_silence(
        caller: Annotated[Caller, _OPERATOR], alert_id: str, request: SilenceAlertRequest
    ) -> AlertSilenced:
        """Has Alertmanager tell nobody of the alert until then. A silence of the same alert gets the new end and reason."""
        manager = _connected(alertmanager)
        now = datetime.now(UTC)
        _check_end(request.ends_at, now)
        alert = await sources.find(alert_id)
        matchers = domain.silence_of(alert, of_whole_rule=request.of_whole_rule)
        made = await _refusing(
            manager.silence(
                matchers, now, request.ends_at, by=request.by or caller.name, reason=request.reason
            )
        )
        log.info("alert_silenced", alert=alert.name, until=request.ends_at.isoformat(), silence=made)
        return AlertSilenced(silence_id=made, ends_at=request.ends_at)

    @routes.post("/silences/{silence_id}/end", summary="End a silence", responses=UNKNOWN)
    async def close_alert_silence(
        caller: Annotated[Caller, _OPERATOR], silence_id: UUID, request: EndSilenceRequest | None = None
    ) -> SilenceEnded:
        """Has Alertmanager tell of the alerts again. A silence that is over already stays as it is."""
        manager = _connected(alertmanager)
        silence = await _refusing(manager.find_silence(silence_id))
        if silence is None:
            raise RefusalError(
                codes.UNKNOWN_SILENCE, f"there is no silence {silence_id}; GET /v1/alerts lists them"
            )
        if silence.state == "expired":
            return SilenceEnded(is_changed=False)
        await _refusing(manager.end_silence(silence_id))
        by = caller.name if request is None or request.by is None else request.by
        log.info("alert_silence_ended", silence=str(silence_id), by=by)
        return SilenceEnded(is_changed=True)

    return routes


def _connected(alertmanager: AlertmanagerClient | None) -> AlertmanagerClient:
    if alertmanager is None:
        raise RefusalError(
            codes.ALERTMANAGER_NOT_CONFIGURED,
            "this monitor knows no Alertmanager: set ALERTMANAGER_URL",
        )
    return alertmanager


def _check_end(ends_at: datetime, now: datetime) -> None:
    if ends_at <= now or ends_at - now > domain.LONGEST_SILENCE + timedelta(minutes=1):
        days = domain.LONGEST_SILENCE.days
        raise RefusalError(
            INVALID_REQUEST, f"ends_at: {ends_at.isoformat()} is not within the next {days} days"
        )


async def _refusing(call: Any) -> Any:
    """Awaits a call of Alertmanager; raises RefusalError if it does not answer, or refuses."""
    try:
        return await call
    except SilenceRefusedError as error:
        raise RefusalError(codes.SILENCE_REFUSED, str(error)) from error
    except _AWAY as error:
        raise RefusalError(codes.ALERTS_NOT_READ, str(error)) from error
