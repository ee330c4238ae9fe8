"""`brandctl chain`: the messages of one chain, of all services, without traces."""

from typing import Annotated, Final

import typer

from brandctl.commands import Result
from brandctl.listing import Listing
from brandctl.messages import ask_each, why
from brandctl.options import AfterCursor, Limit
from brandctl.times import to_second
from client import message_chains
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_LINE: Final = Listing(
    {
        "made": lambda message: to_second(message["at"]),
        "service": "service",
        "message": "message_id",
        "type": "type",
        "state": "state",
        "ended": lambda message: to_second(message["ended_at"]),
        "due": lambda message: to_second(message["due_at"]),
        "why": why,
    },
    nothing="no message of this chain is in the services' records",
)


def chain(
    correlation_id: Annotated[str, typer.Argument(metavar="CORRELATION_ID")],
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    after: AfterCursor = None,
    limit: Limit = 100,
) -> Result:
    """Lists the messages of a chain, of all services, the newest first; exit code 1 if a service cannot be reached.

    A chain is all that follows from one request. Log lines, messages, dead letters and API answers have its
    correlation_id.

    For example:

        brandctl chain 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
        brandctl chain 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --json | jq '.items[] | select(.state != "handled")'

    Options:
        correlation_id: Of the chain.
    """
    places = message_chains.read_places(after or "")
    clients = [
        each for each in (orchestrator, research, publisher, social, monitor) if each.service in places
    ]
    answers, away = ask_each(
        clients,
        lambda client: client.list_messages(
            correlation_id=correlation_id, after=places[client.service], limit=limit
        ),
    )
    line = message_chains.merge(answers, places, size=limit)
    listed = _LINE.of({"items": line.items, "next": line.next}, list(line.items))
    remark = [] if line.next is None else [f"there are more: --after {line.next}"]
    note = () if away else listed.note
    return Result(listed.answer, listed.show, note, remark=remark, error="; ".join(away))
