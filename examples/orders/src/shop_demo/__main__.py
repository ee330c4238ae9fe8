"""`make example`: places orders, kills a service in the middle, and shows what became of each of them."""

import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg

from brandctl import signals
from brandctl.local import databases, postgres, rabbitmq
from chassis.testing import eventually
from messaging.testing import Broker
from shop_demo.mailbox import Mailbox
from shop_demo.processes import NAMES, Shop, declare_topology

_ORDINARY: Final = 50


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    began = time.monotonic()
    try:
        with signals.raised(), ExitStack() as cleanup:
            shop, mailbox, rabbitmq_url, payments_url = _bring_up(cleanup)
            right = asyncio.run(_demonstrate(shop, mailbox, rabbitmq_url, payments_url))
            say("Stopping")
    except signals.Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    say(f"Everything is gone again, after {time.monotonic() - began:.0f} seconds.")
    sys.exit(not right)


def _bring_up(cleanup: ExitStack) -> tuple[Shop, Mailbox, str, str]:
    say("Starting a RabbitMQ and a PostgreSQL of our own")
    folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="shop-")))
    folder.chmod(0o711)  # PostgreSQL does not run as root and must be able to pass through
    broker = rabbitmq.launch(folder / "rabbitmq")
    cleanup.callback(broker.stop)
    database = postgres.launch(folder / "postgres")
    cleanup.callback(database.stop)
    database.wait()
    databases.create(database.url, NAMES, lambda name: f"{name}-{database.password}", private=True)
    urls = {name: databases.url_of(database.url, name, f"{name}-{database.password}") for name in NAMES}
    mailbox = cleanup.enter_context(Mailbox().open())
    shop = Shop(broker.url, urls, mailbox.address, folder)
    say("python -m orders migrate; python -m payments migrate")
    shop.migrate()
    broker.wait()
    say("python -m messaging topology shop.catalogue")
    declare_topology(broker.url)
    say("python -m orders & python -m payments &")
    cleanup.callback(shop.stop)
    shop.start(*NAMES)
    return shop, mailbox, broker.url, urls["payments"]


async def _demonstrate(shop: Shop, mailbox: Mailbox, rabbitmq_url: str, payments_url: str) -> bool:
    payments = await asyncpg.connect(payments_url)
    declined, busy, impossible = (
        await shop.place("expired"),
        await shop.place("busy-once"),
        await shop.place(cents=5_000_000),
    )
    ordinary = list(await asyncio.gather(*(shop.place() for _ in range(_ORDINARY))))
    say(f"Placed {_ORDINARY + 3} orders")
    await eventually(lambda: payments.fetchval("select count(*) > 0 from charges"))
    shop.kill("payments")
    charged = await payments.fetchval("select count(*) from charges")
    say(f"SIGKILL to payments, when {charged} charges were made")
    await asyncio.gather(*(shop.place(order_id=each) for each in ordinary))
    say(f"Placed {_ORDINARY} of them again, as a customer does who is impatient")
    say("python -m payments &")
    shop.start("payments")

    paid = [*ordinary, busy]
    await eventually(lambda: _ended(shop, [*paid, declined]))
    await eventually(lambda: len(mailbox.mails) >= len(paid))
    charges = await payments.fetch("select order_id, count(*) as n from charges group by order_id")
    await payments.close()
    per_order = {UUID(str(row["order_id"])): row["n"] for row in charges}
    mails = [next((each for each in paid if str(each) in mail["Subject"]), None) for mail in mailbox.mails]
    say("")
    say(f"{'order':<36}  {'state':<8}  charges  mails")
    for name, order_ids in {
        f"{_ORDINARY} ordinary ones, each": ordinary,
        "card network busy at first": [busy],
        "card has expired": [declined],
        "impossible amount": [impossible],
    }.items():
        states = ", ".join(sorted(set(await shop.states(order_ids))))
        counts = {(per_order.get(each, 0), mails.count(each)) for each in order_ids}
        figures = " or ".join(f"{charges:>7}  {mailed:>5}" for charges, mailed in counts)
        say(f"{name:<36}  {states:<8}  {figures}")
    async with Broker.connected(rabbitmq_url) as broker:
        dead = await broker.take("payments-commands-dlq")
    say("")
    say("In payments-commands-dlq, for a person to look at:")
    for name in ("failure-reason", "failure-message", "failure-attempts"):
        say(f"  {name}: " + str(dead.headers[name]))
    say("")
    once = set(per_order.values()) == {1} and len(per_order) == len(mailbox.mails) == len(set(mails)) == len(
        paid
    )
    say("Nothing was lost, and nothing was done twice." if once else "THIS IS WRONG: see the table.")
    return once


async def _ended(shop: Shop, order_ids: list[UUID]) -> bool:
    return "placed" not in await shop.states(order_ids)


main()
