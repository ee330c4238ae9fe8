"""`brandctl doctor`: live probes of the broker and the databases, by each service and by an administrator."""

import asyncio
import os
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

import typer

from brandctl.commands import Result
from brandctl.errors import CommandError
from brandctl.listing import Listing
from client.errors import ClientError
from client.pages import read_if_known
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_BROKER: Final = "broker"
"""Stands for the service in the rows of the administrator's probes."""
_FINDINGS: Final = Listing(
    {
        "of": "service",
        "status": "status",
        "probe": "probe",
        "found": "found",
        "what to do": "advice",
    },
    nothing="no service answered",
    colours={"ok": "green", "warning": "yellow", "failed": "red", "skipped": "dim"},
)


def doctor(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    api_url: Annotated[str | None, typer.Option(envvar="RABBITMQ_API_URL")] = None,
    vhost: Annotated[str | None, typer.Option(envvar="RABBITMQ_VHOST")] = None,
) -> Result:
    """Probes the broker and the databases, and says what was found and what to do; exit code 1 if something failed.

    Each service that handles messages probes with its own users. Addresses come from ORCHESTRATOR_URL and so on, the key from
    SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it. Only a user of the broker's management
    can see the delivery limits, other arguments and bindings of queues: --api-url compares them with the topology, too.

    For example:

        brandctl doctor
        brandctl doctor --json | jq '.findings[] | select(.status == "failed")'
        RABBITMQ_API_URL=http://admin:password@127.0.0.1:15672 brandctl doctor

    Options:
        api_url: http://user:password@host:15672, of an administrator or a user with the tag monitoring.
        vhost: The broker's vhost for --api-url. [default: that of RABBITMQ_URL, or /]
    """
    found: list[dict[str, Any]] = []
    away: list[str] = []
    for each in (orchestrator, research, publisher, social, monitor, events):
        try:
            report = read_if_known(each.check_servers)
        except ClientError as error:
            away.append(str(error))
            continue
        if report is None:
            away.append(f"the {each.service} service is of an older version, which has no doctor")
            continue
        found += [{"service": each.service, **finding} for finding in report["findings"]]
    remarks = []
    if api_url is None:
        remarks.append(
            "delivery limits, other arguments and bindings of queues were not looked at: give --api-url, or RABBITMQ_API_URL"
        )
    else:
        found += _inspect(api_url, vhost or _vhost_of(os.environ.get("RABBITMQ_URL", "")))
    failed = sum(each["status"] == "failed" for each in found)
    if failed:
        away.append(f"{failed} {'probe' if failed == 1 else 'probes'} failed")
    listed = _FINDINGS.of({"findings": found}, found)
    return Result(listed.answer, listed.show, listed.note, remark=remarks, error="; ".join(away))


def _inspect(api_url: str, vhost: str) -> list[dict[str, Any]]:
    from envelope.brand import CATALOGUE  # noqa: PLC0415  (takes a second to load, with those below)
    from messaging.doctor.inspection import inspect  # noqa: PLC0415
    from messaging.topology.users import UsersError  # noqa: PLC0415

    try:
        findings = asyncio.run(inspect(api_url, vhost, CATALOGUE))
    except UsersError as error:
        raise CommandError(str(error)) from error
    return [
        {
            "service": _BROKER,
            "probe": each.probe,
            "status": each.status.value,
            "found": each.found,
            "advice": each.advice,
        }
        for each in findings
    ]


def _vhost_of(url: str) -> str:
    return unquote(urlsplit(url).path.removeprefix("/")) or "/"
