from collections.abc import Sequence
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, Field

from chassis import KeyedSettings, ServiceKey
from envelope import DomainMessage
from messaging import Database, Service, ServiceSettings, Transaction, on_batch, on_each
from orders.receipts import ReceiptSender
from shop.catalogue import CATALOGUE, ChargeCard, PaymentDeclined, PaymentTaken, SendReceipt

END = """update orders set state = ended.state from unnest($1::uuid[], $2::text[]) as ended (order_id, state)
where orders.order_id = ended.order_id and orders.state = 'placed' returning orders.order_id, orders.state"""


class Settings(ServiceSettings, KeyedSettings):
    smtp_server: str = "127.0.0.1:25"


class OrderForm(BaseModel):
    email: str = Field(pattern=r"^[^\s@\x00]+@[^\s@\x00]+$")
    cents: int = Field(gt=0, lt=2**31)
    card: str


def build(settings: Settings) -> Service:
    service = Service("orders", settings, CATALOGUE)
    mail_server = service.dependency("mail server", outages=(ConnectionRefusedError,))
    receipts = ReceiptSender(service.database, settings.smtp_server, mail_server)
    service.serve(http_api(service.database, ServiceKey(settings.service_key)))
    service.consume("orders-events", on_batch(payments_ended, PaymentTaken, PaymentDeclined))
    service.consume("orders-commands", on_each(receipts.send, SendReceipt))
    return service


def http_api(database: Database, service_key: ServiceKey) -> FastAPI:
    api = FastAPI(title="Orders", dependencies=[Depends(service_key)])

    @api.put("/orders/{order_id}", status_code=202)
    async def place(order_id: UUID, form: OrderForm) -> None:
        """Places an order. The caller chooses the id, so that it may send the order again without an answer."""
        async with database.transaction() as tx:
            insert = "insert into orders values ($1, $2, $3) on conflict do nothing returning order_id"
            if await tx.connection.fetchval(insert, order_id, form.email, form.cents):
                tx.send(ChargeCard(order_id=order_id, cents=form.cents, card=form.card))

    @api.get("/orders/{order_id}")
    async def state(order_id: UUID) -> str:
        async with database.connection() as connection:
            found = await connection.fetchval("select state from orders where order_id = $1", order_id)
        if found is None:
            raise HTTPException(404)
        return str(found)

    return api


async def payments_ended(
    messages: Sequence[DomainMessage[PaymentTaken | PaymentDeclined]], tx: Transaction
) -> None:
    """One statement, however many there are; an order that has ended stays as it is."""
    causes = {message.payload.order_id: message for message in messages}
    states = ["paid" if isinstance(each.payload, PaymentTaken) else "declined" for each in causes.values()]
    for row in await tx.connection.fetch(END, list(causes), states):
        if row["state"] == "paid":
            tx.send(SendReceipt(order_id=row["order_id"]), caused_by=causes[row["order_id"]])
