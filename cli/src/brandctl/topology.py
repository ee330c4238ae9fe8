"""`brandctl topology`: exchanges, queues and bindings."""

import asyncio
import os
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from brandctl.commands import Group, Result
from brandctl.errors import CommandError, UsageError
from brandctl.terminal import note
from envelope.brand import CATALOGUE

app = Group("topology", "Exchanges, queues and bindings: show, declare.")


@app.command()
def show() -> Result:
    """Shows the exchanges, queues and bindings that the system declares."""
    from messaging import topology  # noqa: PLC0415  (takes a second to load)

    described = topology.describe(CATALOGUE)
    bindings = {
        queue.name: [each for each in described.bindings if each.queue == queue.name]
        for queue in described.queues
    }
    queues = [
        {
            "name": queue.name,
            "arguments": dict(queue.arguments),
            "bound_to": [
                {"exchange": each.exchange, "routing_key": each.routing_key} for each in bindings[queue.name]
            ],
        }
        for queue in described.queues
    ]

    def show_table() -> None:
        table = Table("queue", "bound to", "arguments")
        for queue in described.queues:
            bound = [f"{each.exchange}: {each.routing_key}" for each in bindings[queue.name]]
            arguments = [f"{name}={value}" for name, value in queue.arguments.items()]
            table.add_row(queue.name, "\n".join(bound), "\n".join(arguments))
        Console().print(table)

    return Result({"queues": queues}, show_table)


@app.command()
def declare(
    url: Annotated[
        str | None, typer.Option(envvar="RABBITMQ_URL", help="amqp://user:password@host:5672/vhost")
    ] = None,
    api_url: Annotated[
        str | None,
        typer.Option(envvar="RABBITMQ_API_URL", help="http://user:password@host:15672, an administrator's"),
    ] = None,
    *,
    as_json: bool,
) -> Result:
    """Declares the topology on a broker; safe to repeat. Objects with other arguments are reported, never changed.

    Messages in a queue under a former name are moved; the old queue is removed if the management API answers.
    """
    from chassis import addresses, redaction  # noqa: PLC0415
    from messaging import topology  # noqa: PLC0415
    from messaging.errors import BROKER_ERRORS  # noqa: PLC0415
    from messaging.settings import BROKER_EXAMPLE, BROKER_SCHEMES  # noqa: PLC0415
    from messaging.topology.users import UsersError  # noqa: PLC0415
    from messaging.topology_upgrade import apply_topology  # noqa: PLC0415

    try:
        environment = os.environ | ({"RABBITMQ_URL": url} if url else {})
        given = addresses.given(environment, "RABBITMQ_URL", schemes=BROKER_SCHEMES, example=BROKER_EXAMPLE)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not given:
        raise UsageError(f"RABBITMQ_URL is not set: {BROKER_EXAMPLE}")
    try:
        asyncio.run(apply_topology(given, CATALOGUE, api_url=api_url, say=note if as_json else typer.echo))
    except (*BROKER_ERRORS, UsersError) as error:
        raise CommandError(f"cannot declare the topology: {redaction.text(str(error))}") from error
    queues = [queue.name for queue in topology.describe(CATALOGUE).queues]
    return Result({"declared": queues}, lambda: typer.echo(f"declared {len(queues)} queues"))
