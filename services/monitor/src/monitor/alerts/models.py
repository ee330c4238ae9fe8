"""Bodies of the routes about alerts."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from chassis.http.api import Moment, View
from monitor.alerts import domain
from monitor.alerts.domain import Alert, AlertState, Matcher, Rule, RuleState, Silence
from monitor.alerts.store import Acknowledgement
from monitor.dead_letters import StoredText


class AlertSourceView(View):
    """Prometheus or Alertmanager."""

    is_connected: bool
    """Whether the monitor's setting names its address."""
    problem: str | None
    """Why it could not be read; null: it answered, or is not connected."""


class AcknowledgementView(View):
    by: str
    note: str
    at: datetime

    @classmethod
    def of(cls, found: Acknowledgement) -> Self:
        return cls(by=found.by, note=found.note, at=found.at)


class AlertView(View):
    """An alert that fires, also if it is silenced."""

    id: str
    name: Annotated[str, Field(examples=["DeadLettersOpen"])]
    severity: Annotated[str, Field(examples=["warning"])]
    summary: str
    runbook: str
    """As the rule has it, such as `docs/operations/alerts.md#deadlettersopen`."""
    runbook_url: str
    """Its address, if the rule has one, or if the setting `RUNBOOK_URL` says where runbooks are; else empty."""
    labels: dict[str, str]
    state: AlertState
    """`inhibited`: another alert says enough."""
    began_at: datetime
    silences: tuple[str, ...]
    """Ids of the silences that keep it quiet."""
    acknowledged: AcknowledgementView | None
    """Null: nobody has said to have seen it."""

    @classmethod
    def of(cls, alert: Alert, acknowledged: Acknowledgement | None, runbooks: str | None) -> Self:
        return cls(
            id=alert.id,
            name=alert.name,
            severity=alert.severity,
            summary=alert.summary,
            runbook=alert.runbook,
            runbook_url=domain.with_runbook(alert.runbook, runbooks),
            labels=dict(alert.labels),
            state=alert.state,
            began_at=alert.began_at,
            silences=alert.silenced_by,
            acknowledged=None if acknowledged is None else AcknowledgementView.of(acknowledged),
        )


class AlertRuleView(View):
    name: str
    group: str
    severity: str
    summary: str
    """What its alerts say, with the names of labels in the place of their values."""
    runbook: str
    runbook_url: str
    state: RuleState
    """`pending`: its condition holds, not yet for long enough."""
    firing: int
    problem: str | None
    """Why Prometheus could not evaluate it."""

    @classmethod
    def of(cls, rule: Rule, runbooks: str | None) -> Self:
        return cls(
            name=rule.name,
            group=rule.group,
            severity=rule.severity,
            summary=rule.summary,
            runbook=rule.runbook,
            runbook_url=domain.with_runbook(rule.runbook, runbooks),
            state=rule.state,
            firing=rule.firing,
            problem=rule.problem,
        )


class MatcherView(View):
    name: str
    value: str
    is_regex: bool
    is_equal: bool

    @classmethod
    def of(cls, matcher: Matcher) -> Self:
        return cls(
            name=matcher.name, value=matcher.value, is_regex=matcher.is_regex, is_equal=matcher.is_equal
        )


class SilenceView(View):
    id: str
    state: str
    """`active`, `pending` or `expired`."""
    matchers: tuple[MatcherView, ...]
    by: str
    reason: str
    starts_at: datetime
    ends_at: datetime

    @classmethod
    def of(cls, silence: Silence) -> Self:
        return cls(
            id=silence.id,
            state=silence.state,
            matchers=tuple(map(MatcherView.of, silence.matchers)),
            by=silence.by,
            reason=silence.reason,
            starts_at=silence.starts_at,
            ends_at=silence.ends_at,
        )


class AlertsView(View):
    prometheus: AlertSourceView
    alertmanager: AlertSourceView
    alerts: tuple[AlertView, ...]
    """Those that fire first; of Alertmanager, or of Prometheus if only that is connected."""
    rules: tuple[AlertRuleView, ...]
    """Of Prometheus."""
    silences: tuple[SilenceView, ...]
    """Those that are not over, the first to end in front."""
    now: datetime


class AcknowledgeAlertRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note: StoredText = Field(default="", description="What you do about it; shown to others.")
    by: StoredText | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )


class AlertAcknowledged(View):
    is_changed: bool
    """False: another person was first; see `acknowledged`."""
    acknowledged: AcknowledgementView


class SilenceAlertRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: StoredText = Field(min_length=1, description="Why it stays quiet; shown to others.")
    ends_at: Moment = Field(description="When it is told again, at most 30 days from now.")
    of_whole_rule: bool = Field(
        default=False, description="Silence all alerts of its rule, not only those with these labels."
    )
    by: StoredText | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )


class AlertSilenced(View):
    silence_id: str
    ends_at: datetime


class EndSilenceRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    by: StoredText | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )


class SilenceEnded(View):
    is_changed: bool
    """False: it was over already."""
