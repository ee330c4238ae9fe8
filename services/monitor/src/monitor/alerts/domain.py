"""Alerts, rules and silences as other systems tell of them. Pure: no I/O."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

AlertState = Literal["firing", "silenced", "inhibited"]
RuleState = Literal["inactive", "pending", "firing", "unknown"]
LONGEST_SILENCE: Final = timedelta(days=30)
_LONGEST_TEXT: Final = 1_000
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(?:\$labels\.(\w+)|[^}]*)[^}]*\}\}")
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
"""Go writes nanoseconds."""


@dataclass(frozen=True, slots=True)
class Matcher:
    name: str
    value: str
    is_regex: bool
    is_equal: bool

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Matcher":
        return cls(
            str(told["name"]), str(told["value"]), bool(told.get("isRegex")), bool(told.get("isEqual", True))
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "isRegex": self.is_regex,
            "isEqual": self.is_equal,
        }


@dataclass(frozen=True, slots=True)
class Silence:
    id: str
    state: str
    """`active`, `pending` or `expired`."""
    matchers: tuple[Matcher, ...]
    by: str
    reason: str
    starts_at: datetime
    ends_at: datetime

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Silence":
        """Raises KeyError, TypeError, ValueError: it is no silence."""
        return cls(
            str(told["id"]),
            str(told["status"]["state"]),
            tuple(map(Matcher.read, told["matchers"])),
            _text(told.get("createdBy")),
            _text(told.get("comment")),
            moment(told["startsAt"]),
            moment(told["endsAt"]),
        )


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that fires, also if it is silenced."""

    labels: Mapping[str, str]
    summary: str
    runbook: str
    state: AlertState
    began_at: datetime
    silenced_by: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same labels."""
        written = json.dumps(dict(self.labels), sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        return self.labels.get("alertname", "")

    @property
    def severity(self) -> str:
        return self.labels.get("severity", "")


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    group: str
    severity: str
    summary: str
    """With the names of labels where an alert has their values."""
    runbook: str
    state: RuleState
    firing: int
    problem: str | None
    """Why Prometheus could not evaluate it."""


def alerts_of_alertmanager(told: Sequence[Mapping[str, Any]]) -> list[Alert]:
    """Raises KeyError, TypeError, ValueError: these are no alerts."""
    found = []
    for each in told:
        status = each["status"]
        state: AlertState = "firing"
        if status.get("silencedBy"):
            state = "silenced"
        elif status.get("inhibitedBy"):
            state = "inhibited"
        notes = each.get("annotations") or {}
        found.append(
            Alert(
                _labels(each["labels"]),
                _text(notes.get("summary")),
                _text(notes.get("runbook") or notes.get("runbook_url")),
                state,
                moment(each["startsAt"]),
                tuple(map(str, status.get("silencedBy") or ())),
            )
        )
    return found


def rules_of_prometheus(told: Mapping[str, Any]) -> tuple[list[Rule], list[Alert]]:
    """The rules, and the alerts of them that fire. Raises KeyError, TypeError, ValueError: these are no rules."""
    rules: list[Rule] = []
    alerts: list[Alert] = []
    for group in told["data"]["groups"]:
        for each in group["rules"]:
            if each.get("type", "alerting") != "alerting":
                continue
            notes = each.get("annotations") or {}
            firing = [alert for alert in each.get("alerts") or () if alert["state"] == "firing"]
            runbook = _text(notes.get("runbook") or notes.get("runbook_url"))
            rules.append(
                Rule(
                    _text(each["name"]),
                    _text(group["name"]),
                    _text((each.get("labels") or {}).get("severity")),
                    readable(_text(notes.get("summary"))),
                    runbook,
                    each["state"] if each["state"] in {"inactive", "pending", "firing"} else "unknown",
                    len(firing),
                    _text(each.get("lastError")) or None,
                )
            )
            alerts += [
                Alert(
                    _labels(alert["labels"]),
                    _text((alert.get("annotations") or {}).get("summary")),
                    runbook,
                    "firing",
                    moment(alert["activeAt"]),
                )
                for alert in firing
            ]
    return rules, alerts


def readable(summary: str) -> str:
    """A summary with `(queue)` in the place of `{{ $labels.queue }}`, and an ellipsis in that of other values."""
    return _PLACEHOLDER.sub(lambda found: f"({found[1]})" if found[1] else "…", summary)


def silence_of(alert: Alert, *, of_whole_rule: bool) -> tuple[Matcher, ...]:
    """Matchers for the alert, or for all of its rule."""
    names = ["alertname"] if of_whole_rule else sorted(alert.labels)
    return tuple(Matcher(name, alert.labels[name], is_regex=False, is_equal=True) for name in names)


def moment(text: str) -> datetime:
    """Raises ValueError: it is no time with a zone."""
    found = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
    if found.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return found


def sorted_alerts(alerts: Sequence[Alert]) -> list[Alert]:
    """Those that fire first, of them the critical ones, then the newest."""
    by_age = sorted(alerts, key=lambda each: each.began_at, reverse=True)
    return sorted(by_age, key=lambda each: (each.state != "firing", each.severity != "critical"))


def with_runbook(runbook: str, base: str | None) -> str:
    """An address of the runbook, if there is one: its own, or its path below `base`."""
    if runbook.startswith(("https://", "http://")):
        return runbook
    return f"{base.rstrip('/')}/{runbook.lstrip('/')}" if base and runbook else ""


def _labels(told: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): _text(value) for name, value in told.items()}


def _text(told: object) -> str:
    return "" if told is None else str(told)[:_LONGEST_TEXT]
