"""The shop on servers of the test run: a broker with the shop's topology, a database for each service."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from messaging import topology
from messaging.testing import Broker
from shop.catalogue import CATALOGUE
from shop_demo.mailbox import Mailbox
from shop_demo.processes import NAMES, Customer, ShopProcesses


@dataclass
class RunningShop:
    """The running shop, with its databases and queues."""

    shop: ShopProcesses
    customer: Customer
    mailbox: Mailbox
    broker: Broker
    orders: asyncpg.Connection
    payments: asyncpg.Connection

    async def has_state(self, order_id: UUID, state: str) -> bool:
        return await self.customer.state(order_id) == state

    async def have_receipts(self, *order_ids: UUID) -> bool:
        """Whether their mails are known to have been sent, which is the last thing that happens to an order."""
        query = "select count(*) from receipts where order_id = any ($1) and confirmed_at is not null"
        return await self.orders.fetchval(query, order_ids) == len(order_ids)

    async def charges(self) -> Counter[UUID]:
        rows = await self.payments.fetch("select order_id from charges")
        return Counter(UUID(int=row["order_id"].int) for row in rows)

    def mails(self) -> Counter[UUID]:
        return Counter(UUID(mail["Subject"].rpartition(" ")[2]) for mail in self.mailbox.mails)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox().open() as mailbox:
        yield mailbox


@pytest.fixture
async def world(
    make_vhost: Callable[..., Awaitable[str]],
    make_database: Callable[[str], Awaitable[str]],
    free_port: Callable[[], int],
    mailbox: Mailbox,
    tmp_path: Path,
) -> AsyncIterator[RunningShop]:
    rabbitmq_url = await make_vhost(topology=False)
    await topology.declare(rabbitmq_url, CATALOGUE)
    database_urls = {name: await make_database(name) for name in NAMES}
    shop = ShopProcesses(rabbitmq_url, database_urls, mailbox.address, tmp_path, free_port)
    orders, payments = [await asyncpg.connect(database_urls[name]) for name in NAMES]
    try:
        shop.start(*NAMES)
        async with shop.customer() as customer, Broker.connected(rabbitmq_url) as broker:
            yield RunningShop(shop, customer, mailbox, broker, orders, payments)
    finally:
        shop.stop()
        await orders.close()
        await payments.close()
