"""`make example`: places orders, kills a service in the middle, and shows the result of each."""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg

from brandctl import signals
from brandctl.local import databases, postgres, rabbitmq, services
from chassis import Connection
from chassis.testing import eventually
from messaging.testing import Broker
from shop_demo.mailbox import Mailbox
from shop_demo.processes import NAMES, Customer, ShopProcesses, declare_topology

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


def _bring_up(cleanup: ExitStack) -> tuple[ShopProcesses, Mailbox, str, str]:
    say("Starting a RabbitMQ and a PostgreSQL of our own")
    folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="shop-")))
    folder.chmod(0o711)  # PostgreSQL does not run as root and must be able to pass through
    broker = rabbitmq.launch(folder / "rabbitmq")
    cleanup.callback(broker.stop)
    database = postgres.launch(folder / "postgres")
    cleanup.callback(database.stop)
    database.wait()
    made = databases.create(database.url, NAMES, lambda role: f"{role}-{database.password}", private=True)
    urls = {name: each.runtime_url for name, each in made.items()}
    mailbox = cleanup.enter_context(Mailbox().open())
    shop = ShopProcesses(broker.url, urls, mailbox.address, folder)
    say("python -m orders migrate; python -m payments migrate")
    services.migrate({name: each.migration for name, each in made.items()})
    broker.wait()
    say("python -m messaging topology shop.catalogue")
    declare_topology(broker.url)
    say("python -m orders & python -m payments &")
    cleanup.callback(shop.stop)
    shop.start(*NAMES)
    return shop, mailbox, broker.url, urls["payments"]


@dataclass(frozen=True)
class Orders:
    ordinary: Sequence[UUID]
    busy: UUID
    declined: UUID
    impossible: UUID

    @property
    def paid(self) -> list[UUID]:
        return [*self.ordinary, self.busy]


async def _demonstrate(shop: ShopProcesses, mailbox: Mailbox, rabbitmq_url: str, payments_url: str) -> bool:
    payments = await asyncpg.connect(payments_url)
    try:
        async with shop.customer() as customer, Broker.connected(rabbitmq_url) as broker:
            orders = await _trade(shop, customer, payments)
            await eventually(lambda: _have_ended(customer, [*orders.paid, orders.declined]))
            await eventually(lambda: len(mailbox.mails) >= len(orders.paid))
            right = await _show(orders, customer, payments, mailbox)
            dead = await broker.take("payments-commands-dlq")
            say("\nIn payments-commands-dlq, for a person to look at:")
            for name in ("failure-reason", "failure-message", "failure-attempts"):
                say(f"  {name}: " + str(dead.headers[name]))
    finally:
        await payments.close()
    say("\nNothing was lost, and nothing was done twice." if right else "\nTHIS IS WRONG: see the table.")
    return right


async def _trade(shop: ShopProcesses, customer: Customer, payments: Connection) -> Orders:
    busy, declined = await customer.place("busy-once"), await customer.place("expired")
    impossible = await customer.place(cents=5_000_000)
    ordinary = await asyncio.gather(*(customer.place() for _ in range(_ORDINARY)))
    say(f"Placed {_ORDINARY + 3} orders")
    await eventually(lambda: payments.fetchval("select count(*) > 0 from charges"))
    shop.kill("payments")
    charged = await payments.fetchval("select count(*) from charges")
    say(f"SIGKILL to payments, when {charged} charges were made")
    await asyncio.gather(*(customer.place(order_id=each) for each in ordinary))
    say(f"Placed {_ORDINARY} of them again, as a customer does who is impatient")
    say("python -m payments &")
    shop.start("payments")
    return Orders(ordinary, busy, declined, impossible)


async def _have_ended(customer: Customer, order_ids: Sequence[UUID]) -> bool:
    return "placed" not in await customer.states(order_ids)


async def _show(orders: Orders, customer: Customer, payments: Connection, mailbox: Mailbox) -> bool:
    """Prints what became of each kind of order; returns whether that is what should have."""
    charges = Counter(UUID(int=row["order_id"].int) for row in await payments.fetch("select * from charges"))
    mails = Counter(UUID(mail["Subject"].rpartition(" ")[2]) for mail in mailbox.mails)
    say(f"\n{'order':<36}  {'state':<8}  charges  mails")
    for name, order_ids in {
        f"{_ORDINARY} ordinary ones, each": orders.ordinary,
        "card network busy at first": [orders.busy],
        "card has expired": [orders.declined],
        "impossible amount": [orders.impossible],
    }.items():
        states = " or ".join(sorted(set(await customer.states(order_ids))))
        figures = " or ".join(sorted({f"{charges[each]:>7}  {mails[each]:>5}" for each in order_ids}))
        say(f"{name:<36}  {states:<8}  {figures}")
    return charges == mails == Counter(orders.paid)


main()
