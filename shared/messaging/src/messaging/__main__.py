"""`python -m messaging`: prepares a broker for the services, and writes the contract documents."""

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg

from chassis import addresses, redaction, secret_files
from envelope import Catalogue, Message
from envelope.catalogue import load
from messaging.errors import BROKER_ERRORS
from messaging.settings import BROKER_EXAMPLE, BROKER_SCHEMES
from messaging.storage import origins
from messaging.topology import contracts, describe
from messaging.topology.users import UsersError, renew_from
from messaging.topology_upgrade import apply_topology

DATABASE_SCHEMES: Final = frozenset({"postgresql", "postgres"})
DATABASE_EXAMPLE: Final = "postgresql://user:password@host:5432/name"
_EPILOG = """\
CATALOGUE is the module with the system's catalogue, such as shop.catalogue; module:name, if its name there is not
CATALOGUE.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m messaging", description=__doc__, epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    topology = commands.add_parser(
        "topology",
        help="declare exchanges, queues and bindings on the broker of RABBITMQ_URL, and move messages from queues with "
        "former names; with RABBITMQ_API_URL set, which shows that such a queue is empty, also remove it; safe to repeat",
        epilog=_EPILOG,
    )
    topology.add_argument(
        "--events-queue",
        metavar="NAME",
        help="another name for the events queue; with its former name, the way back to the previous version",
    )
    users = commands.add_parser(
        "users",
        help="create or renew the user of each service, with only the permissions it needs, over the management API of "
        "RABBITMQ_API_URL, on the vhost RABBITMQ_VHOST (/), with each password from <SERVICE>_BROKER_PASSWORD, or from the "
        "file that <SERVICE>_BROKER_PASSWORD_FILE names; safe to repeat",
        epilog=_EPILOG,
    )
    published = commands.add_parser(
        "contracts",
        help="generate asyncapi.json and topology.md from the catalogue, into a folder",
        epilog=_EPILOG,
    )
    accepting = commands.add_parser(
        "accept-replay",
        help="accept the next replay of each given event, with any content, in the service with the database of "
        "DATABASE_URL; for dead letters that the broker itself made, which that service does not know",
    )
    accepting.add_argument("event_ids", metavar="EVENT_ID", nargs="+", type=UUID)
    for command in (topology, users, published):
        command.add_argument("catalogue", metavar="CATALOGUE")
    published.add_argument("folder", type=Path, metavar="FOLDER")
    published.add_argument(
        "--examples", metavar="MODULE", help="the module with EXAMPLES, which has a message for each type"
    )
    arguments = parser.parse_args()
    if arguments.command == "accept-replay":
        _accept_replays(arguments.event_ids)
        return
    try:
        catalogue = load(arguments.catalogue)
    except LookupError as error:
        sys.exit(str(error))
    match arguments.command:
        case "topology":
            _topology(catalogue.calling_events_queue(name) if (name := arguments.events_queue) else catalogue)
        case "users":
            _users(catalogue)
        case "contracts":
            _contracts(catalogue, arguments.folder, arguments.examples)


def _users(catalogue: Catalogue) -> None:
    try:
        users = renew_from(catalogue, os.environ)
    except UsersError as error:
        sys.exit(f"cannot renew the users: {error}")
    sys.stdout.write(f"renewed the users {', '.join(users)}\n")


def _accept_replays(event_ids: Sequence[UUID]) -> None:
    try:
        url = addresses.given(os.environ, "DATABASE_URL", schemes=DATABASE_SCHEMES, example=DATABASE_EXAMPLE)
    except ValueError as error:
        sys.exit(str(error))
    if url is None:
        sys.exit(f"DATABASE_URL is not set: {DATABASE_EXAMPLE}")
    try:
        edited = asyncio.run(_accept(url, event_ids))
    except (asyncpg.PostgresError, OSError) as error:
        sys.exit(f"cannot accept replays: {redaction.text(str(error))}")
    if accepted := [event_id for event_id in event_ids if event_id not in edited]:
        _say(f"accepts the next replay of {', '.join(map(str, accepted))}")
    if edited:
        sys.exit(f"edited already, so no replay follows: {', '.join(map(str, edited))}")


async def _accept(url: str, event_ids: Sequence[UUID]) -> list[UUID]:
    connection = await asyncpg.connect(url, timeout=15)
    try:
        return await origins.accept(connection, event_ids)
    finally:
        await connection.close()


def _topology(catalogue: Catalogue) -> None:
    try:
        url = addresses.given(os.environ, "RABBITMQ_URL", schemes=BROKER_SCHEMES, example=BROKER_EXAMPLE)
        api_url = secret_files.read(os.environ, "RABBITMQ_API_URL")
    except ValueError as error:
        sys.exit(str(error))
    if url is None:
        sys.exit(f"RABBITMQ_URL is not set: {BROKER_EXAMPLE}")
    described = describe(catalogue)
    try:
        asyncio.run(apply_topology(url, catalogue, api_url=api_url, say=_say))
    except (*BROKER_ERRORS, UsersError) as error:
        sys.exit(f"cannot declare the topology: {redaction.text(str(error))}")
    _say(
        f"declared {len(described.exchanges)} exchanges, {len(described.queues)} queues, "
        f"{len(described.bindings)} bindings"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _contracts(catalogue: Catalogue, folder: Path, examples_in: str | None) -> None:
    examples: Mapping[str, Message] = importlib.import_module(examples_in).EXAMPLES if examples_in else {}
    for name, text in contracts.generate(catalogue, examples).items():
        (folder / name).write_text(text, encoding="utf-8")


main()
