"""`python -m messaging topology` and `users`: what a broker must have before the services can work on it."""

import argparse
import asyncio
import os
import sys

import aio_pika

from messaging.topology import declare, describe
from messaging.users import UsersError, renew_from


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m messaging")
    parser.add_argument(
        "command",
        choices=("topology", "users"),
        help="topology: declare exchanges, queues and bindings on the broker of RABBITMQ_URL; safe to repeat. "
        "users: make or renew the user of each service, with what it needs and no more, over the management API of "
        "RABBITMQ_API_URL, on the vhost RABBITMQ_VHOST (/), with the passwords of RESEARCH_BROKER_PASSWORD and so "
        "on; safe to repeat",
    )
    if parser.parse_args().command == "users":
        _users()
    else:
        _topology()


def _users() -> None:
    try:
        users = renew_from(os.environ)
    except UsersError as error:
        sys.exit(f"cannot renew the users: {error}")
    sys.stdout.write(f"renewed the users {', '.join(users)}\n")


def _topology() -> None:
    url = os.environ.get("RABBITMQ_URL")
    if not url:
        sys.exit("RABBITMQ_URL is not set: amqp://user:password@host:5672/vhost")
    try:
        asyncio.run(declare(url))
    except (aio_pika.exceptions.AMQPError, OSError, TimeoutError) as error:
        sys.exit(f"cannot declare the topology: {error}")
    described = describe()
    sys.stdout.write(
        f"declared {len(described.exchanges)} exchanges, {len(described.queues)} queues, "
        f"{len(described.bindings)} bindings\n"
    )


main()
