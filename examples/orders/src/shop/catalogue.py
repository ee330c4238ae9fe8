"""All messages of the shop: payload, producer and consumer of each."""

from uuid import UUID

from envelope import Catalogue, Payload, command, event


class ChargeCard(Payload):
    order_id: UUID
    cents: int
    card: str


class PaymentTaken(Payload):
    order_id: UUID


class PaymentDeclined(Payload):
    order_id: UUID
    reason: str


class SendReceipt(Payload):
    order_id: UUID


CATALOGUE = Catalogue(
    title="Shop",
    system="shop",
    services=("orders", "payments"),
    router="orders",
    types=(
        command("card.charge", ChargeCard, to="payments", producers=("orders",)),
        event("payment.taken", PaymentTaken, producers=("payments",)),
        event("payment.declined", PaymentDeclined, producers=("payments",)),
        command("receipt.send", SendReceipt, to="orders", producers=("orders",)),
    ),
)
