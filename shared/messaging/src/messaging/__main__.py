"""`python -m messaging topology`: declare the exchanges and queues on the broker of `RABBITMQ_URL`."""

import argparse
import asyncio
import os
import sys

import aio_pika

from messaging.topology import declare, describe


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m messaging")
    parser.add_argument(
        "command",
        choices=("topology",),
        help="topology: declare exchanges, queues and bindings on the broker of RABBITMQ_URL; safe to repeat",
    )
    parser.parse_args()
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
