import asyncio

from envelope import DomainMessage
from messaging import Context, Record, Service, ServiceSettings, Transaction, Unprocessable, on_each
from shop.catalogue import CATALOGUE, ChargeCard, PaymentDeclined, PaymentTaken

LIMIT = 1_000_000


def build(settings: ServiceSettings) -> Service:
    service = Service("payments", settings, CATALOGUE)
    service.consume("payments-commands", on_each(charge, ChargeCard))
    return service


async def charge(message: DomainMessage[ChargeCard], context: Context) -> Record:
    order = message.payload
    if order.cents > LIMIT:
        raise Unprocessable(f"no card takes {order.cents} cents: split the order, {LIMIT} at most")
    refusal = await ask_card_network(order, context.attempt)

    async def record(tx: Transaction) -> None:
        if refusal:
            tx.send(PaymentDeclined(order_id=order.order_id, reason=refusal), caused_by=message)
            return
        insert = "insert into charges (order_id, cents) values ($1, $2)"
        await tx.connection.execute(insert, order.order_id, order.cents)
        tx.send(PaymentTaken(order_id=order.order_id), caused_by=message)

    return record


async def ask_card_network(order: ChargeCard, attempt: int) -> str | None:
    """Imitates a network that charges an `order_id` once, however many requests it gets."""
    await asyncio.sleep(0.2)
    if order.card == "busy-once" and attempt == 1:
        raise ConnectionError("the card network is busy")
    return "the card has expired" if order.card == "expired" else None
