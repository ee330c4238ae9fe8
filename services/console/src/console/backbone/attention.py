"""What needs an operator now, over all services, the worst first. Pure: no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from console.backbone.views import is_late
from console.dead_letters.views import LetterFilter
from console.service_clients import Away

_WORST_FIRST: Final = (
    "away",
    "not_ready",
    "doctor",
    "alert_critical",
    "missing",
    "breaker",
    "outbox",
    "letters",
    "letters_without_type",
    "more_letters",
    "paused",
    "alert",
    "not_known",
)
_MOST_GROUPS: Final = 5


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that needs an operator."""

    key: str
    """Of its text, below `backbone.attention`."""
    path: str
    """Where to look and to mend it."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    """In the words of a service or a person."""
    since: str | None = None
    service: str = ""
    """The service that does not answer; it has to be started again."""

    @property
    def is_bad(self) -> bool:
        """Whether something does not work, rather than waits."""
        return self.key not in {"paused", "alert", "not_known"}


def troubles_of(
    parts: Mapping[str, Any],
    *,
    gateway: Any,
    letters: Any,
    ledger: Any,
    alerts: Any,
    findings: Mapping[str, Any],
) -> list[Trouble]:
    """What needs an operator, the worst first; of one kind, in the order of the services.

    Args:
        parts: each service's part of the backbone, or what replaces it.
        gateway: any answer of the gateway.
        letters: the groups of open dead letters.
        ledger: the ledger's counts.
        alerts: alerts of Prometheus and Alertmanager.
        findings: each service's report of its doctor; None if it takes too long.
    """
    found = [
        *_of_services(parts, gateway),
        *_of_letters(letters),
        *_of_ledger(ledger),
        *_of_alerts(alerts),
        *_of_doctor(findings),
        # A part that nobody could read says nothing about whether all is well.
        *(
            Trouble("not_known", path, {"page": page})
            for page, path, part in (
                ("dead_letters.nav", "/dead-letters", letters),
                ("ledger.nav", "/ledger", ledger),
                ("alerts.nav", "/alerts", alerts),
            )
            if not isinstance(part, Mapping)
        ),
    ]
    if any(each is None for each in findings.values()):
        found.append(Trouble("not_known", "/doctor", {"page": "doctor.nav"}))
    return sorted(found, key=lambda each: _WORST_FIRST.index(each.key))


def _of_services(parts: Mapping[str, Any], gateway: Any) -> Iterator[Trouble]:
    for service, part in (*parts.items(), ("gateway", gateway)):
        place = f"/backbone#of-{service}" if service in parts else "/providers"
        if isinstance(part, Away):
            yield Trouble("away", place, {"service": service}, since=part.since.isoformat(), service=service)
        elif isinstance(part, Mapping) and service in parts:
            yield from _of_service(service, part, place)


def _of_service(service: str, part: Mapping[str, Any], place: str) -> Iterator[Trouble]:
    if not part["is_ready"]:
        why = "; ".join(f"{each['part']}: {each['problem']}" for each in part["problems"])
        yield Trouble("not_ready", place, {"service": service}, why)
    for each in part["breakers"]:
        if each["trouble"]:
            yield Trouble("breaker", place, {"service": service, "what": each["name"]}, each["trouble"])
    if is_late(part):
        outbox = part["outbox"]
        fields = {"service": service, "n": outbox["due"]}
        yield Trouble("outbox", place, fields, since=outbox["oldest_due_at"])
    for each in part["queues"]:
        if pause := each.get("pause"):
            fields = {"queue": each["queue"], "by": pause["by"]}
            yield Trouble("paused", place, fields, pause["reason"], pause["since"])


def _of_letters(letters: Any) -> Iterator[Trouble]:
    groups = letters["groups"] if isinstance(letters, Mapping) else ()
    for each in groups[:_MOST_GROUPS]:
        yield Trouble(
            "letters" if each["types"] else "letters_without_type",
            f"/dead-letters{LetterFilter(group=each['group']).query()}",
            {"n": each["count"], "queue": each["queue"], "types": ", ".join(each["types"])},
            each["newest_detail"],
            each["first_failed_at"],
        )
    if rest := groups[_MOST_GROUPS:]:
        fields = {"n": sum(each["count"] for each in rest), "groups": len(rest)}
        yield Trouble("more_letters", "/dead-letters", fields)


def _of_ledger(ledger: Any) -> Iterator[Trouble]:
    if isinstance(ledger, Mapping) and ledger["missing"]:
        yield Trouble("missing", "/ledger?state=missing", {"n": ledger["missing"]})


def _of_alerts(alerts: Any) -> Iterator[Trouble]:
    firing: Sequence[Mapping[str, Any]] = alerts["alerts"] if isinstance(alerts, Mapping) else ()
    for each in firing:
        if each["state"] == "firing":
            key = "alert_critical" if each["severity"] == "critical" else "alert"
            yield Trouble(key, "/alerts", {"name": each["name"]}, each["summary"], each["began_at"])


def _of_doctor(findings: Mapping[str, Any]) -> Iterator[Trouble]:
    for service, report in findings.items():
        for each in report["findings"] if isinstance(report, Mapping) else ():
            if each["status"] == "failed":
                fields = {"service": service, "probe": each["probe"]}
                told = f"{each['found']} {each['advice']}".strip()
                yield Trouble("doctor", f"/doctor#of-{service}", fields, told)
