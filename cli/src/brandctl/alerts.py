"""`brandctl alerts`: alerts of Prometheus and Alertmanager."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from brandctl.commands import Group, Result
from brandctl.listing import Listing
from brandctl.operator_names import By, who
from client.services.monitor import Monitor

app = Group(
    "alerts",
    """Shows alerts of Prometheus and Alertmanager, acknowledges them, and silences them until a time.

The monitor asks both: its settings PROMETHEUS_URL and ALERTMANAGER_URL. Its address comes from MONITOR_URL, the key from
SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds both.

For example:

    brandctl alerts list
    brandctl alerts silence 0f3a9c77d1e2b480 --hours 4 --reason "the disk is being replaced"
""",
)
_LONGEST_HOURS: Final = 720
_Alert = Annotated[str, typer.Argument(metavar="ID", help="The id that `brandctl alerts list` shows.")]

_ALERTS: Final = Listing(
    {
        "id": "id",
        "alert": "name",
        "severity": "severity",
        "state": "state",
        "since": lambda each: each["began_at"][:16],
        "seen by": lambda each: each["acknowledged"]["by"] if each["acknowledged"] else "",
        "runbook": lambda each: each["runbook_url"] or each["runbook"],
        "summary": "summary",
    },
    nothing="no alert fires",
    colours={"critical": "red", "silenced": "yellow"},
)
_RULES: Final = Listing(
    {
        "rule": "name",
        "severity": "severity",
        "state": "state",
        "runbook": lambda each: each["runbook_url"] or each["runbook"],
        "summary": "summary",
    },
    nothing="Prometheus has no rules, or the monitor does not know it",
    colours={"firing": "red", "pending": "yellow"},
)
_SILENCES: Final = Listing(
    {
        "id": "id",
        "alerts with": lambda each: " ".join(f"{one['name']}={one['value']}" for one in each["matchers"]),
        "until": lambda each: each["ends_at"][:16],
        "by": "by",
        "reason": "reason",
    },
    nothing="nothing is silenced",
)


@app.command("list")
def list_alerts(
    monitor: Monitor,
    rules: Annotated[bool, typer.Option("--rules")] = False,
    silences: Annotated[bool, typer.Option("--silences")] = False,
) -> Result:
    """Lists the alerts that fire, also silenced ones; exit code 1 if Prometheus or Alertmanager does not answer.

    For example:

        brandctl alerts list
        brandctl alerts list --rules

    Options:
        rules: List all rules instead, with their states.
        silences: List what is silenced instead, and until when.
    """
    found = monitor.get_alerts()
    shown = _RULES if rules else _SILENCES if silences else _ALERTS
    items = found["rules"] if rules else found["silences"] if silences else found["alerts"]
    listed = shown.of(found, items)
    away = [each["problem"] for each in (found["prometheus"], found["alertmanager"]) if each["problem"]]
    unknown = [
        f"the monitor does not know {name}: set {name.upper()}_URL"
        for name in ("prometheus", "alertmanager")
        if not found[name]["is_connected"]
    ]
    notes = [listed.note] if isinstance(listed.note, str) else [*listed.note]
    return Result(listed.answer, listed.show, [*notes, *unknown], error="; ".join(away))


@app.command("acknowledge")
def acknowledge(
    monitor: Monitor, alert: _Alert, note: Annotated[str, typer.Option()] = "", by: By = None
) -> Result:
    """Tells others that you have seen an alert, until it ends. People are still told of it.

    For example:

        brandctl alerts acknowledge 0f3a9c77d1e2b480 --note "the disk is being replaced"

    Options:
        note: What you do about it; shown to others.
    """
    answer = monitor.acknowledge_alert(alert, note=note, by=who(by))
    seen = answer["acknowledged"]
    word = "is" if answer["is_changed"] else "was already"
    return Result(answer, remark=f"{alert} {word} acknowledged by {seen['by']}")


@app.command("silence")
def silence(
    monitor: Monitor,
    alert: _Alert,
    reason: Annotated[str, typer.Option()],
    hours: Annotated[float, typer.Option(min=0.1, max=_LONGEST_HOURS)] = 4,
    whole_rule: Annotated[bool, typer.Option("--whole-rule")] = False,
    by: By = None,
) -> Result:
    """Has Alertmanager tell nobody of an alert for some hours. The same alert again gets the new end.

    For example:

        brandctl alerts silence 0f3a9c77d1e2b480 --hours 4 --reason "the disk is being replaced"

    Options:
        reason: Why it stays quiet; shown to others.
        hours: For how long, at most 720.
        whole_rule: Silence all alerts of its rule, not only those with the same labels.
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    ends_at = datetime.now(UTC) + timedelta(hours=hours)
    answer = monitor.set_alert_silence(
        alert, reason=reason, ends_at=ends_at.isoformat(), of_whole_rule=whole_rule, by=who(by)
    )
    return Result(answer, remark=f"silence {answer['silence_id']} ends at {answer['ends_at']}")


@app.command("end-silence")
def end_silence(
    monitor: Monitor,
    silence_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id that `brandctl alerts list --silences` shows.")
    ],
    by: By = None,
) -> Result:
    """Ends a silence now: people are told of its alerts again.

    For example:

        brandctl alerts end-silence 5d1bcb6a-3f06-4a0c-9e53-0a2b7e4c1a11
    """
    answer = monitor.close_alert_silence(silence_id, by=who(by))
    return Result(answer, remark=f"{silence_id} {'is' if answer['is_changed'] else 'was already'} over")
