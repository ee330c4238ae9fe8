"""`brandctl queues`: pauses and resumes the consumers of a queue."""

from typing import Annotated, Any

import typer

from brandctl.commands import Group, Result
from brandctl.errors import CommandError
from brandctl.operator_names import By, who
from client.errors import ClientError
from client.pages import read_if_known
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

app = Group(
    "queues",
    """Pauses the consumers of a queue, of all processes of the service, and resumes them; `brandctl backbone` lists queues.

The service that consumes the queue keeps the pause, through restarts too. Addresses come from ORCHESTRATOR_URL and so on, the
key from SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

For example:

    brandctl queues pause publisher-commands --reason "the sites move to another host"
    brandctl queues resume publisher-commands
""",
)

_Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="One that `brandctl backbone` lists.")]


@app.command("pause")
def pause(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    queue: _Queue,
    reason: Annotated[str, typer.Option()],
    by: By = None,
) -> Result:
    """Pauses the consumers of a queue within a few seconds; what has begun is finished, and other messages wait at the broker.

    A queue that is paused already keeps its pause, which is shown.

    For example:

        brandctl queues pause publisher-commands --reason "the sites move to another host"

    Options:
        reason: Why its messages must wait; shown to all who operate the system.
    """
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    service = _consumer((orchestrator, research, publisher, social, monitor, events), queue)
    answer = service.pause_queue(queue=queue, reason=reason, by=who(by))
    done = "is paused" if answer["is_changed"] else "was paused already"
    return _shown(answer, done)


@app.command("resume")
def resume(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    events: Events,
    queue: _Queue,
    by: By = None,
) -> Result:
    """Resumes the consumers of a queue within a few seconds.

    For example:

        brandctl queues resume publisher-commands
    """
    service = _consumer((orchestrator, research, publisher, social, monitor, events), queue)
    answer = service.resume_queue(queue=queue, by=who(by))
    return _shown(answer, "is resumed" if answer["is_changed"] else "was not paused")


def _consumer(services: tuple[Any, ...], queue: str) -> Any:
    """The service that consumes the queue."""
    away: list[str] = []
    for each in services:
        try:
            part = read_if_known(each.get_backbone)
        except ClientError as error:
            away.append(str(error))
            continue
        if part is not None and any(found["queue"] == queue for found in part["queues"]):
            return each
    told = f"no service that answered consumes {queue}; `brandctl backbone` lists queues"
    raise CommandError("; ".join([told, *away]))


def _shown(answer: dict[str, Any], done: str) -> Result:
    paused = answer["pause"]
    by = "" if paused is None else f" by {paused['by']} since {paused['since']}: {paused['reason']}"
    return Result(answer, remark=f"{answer['queue']} {done}{by}")
