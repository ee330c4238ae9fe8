"""What becomes of an order, with both services running as processes."""

import asyncio
from collections import Counter
from uuid import uuid4

from chassis.testing import eventually
from shop.catalogue import CATALOGUE


async def test_an_order_ends_paid_with_one_charge_and_one_mail(world) -> None:
    order_id = await world.customer.place(cents=1999)
    await eventually(lambda: world.have_receipts(order_id))
    assert await world.customer.state(order_id) == "paid"
    assert await world.charges() == Counter([order_id])
    (mail,) = world.mailbox.mails
    assert mail["To"] == "customer@example.org"
    assert mail["Subject"] == f"Receipt: 19.99, {order_id}"


async def test_an_order_that_is_placed_twice_is_one_order(world) -> None:
    order_id = uuid4()
    await asyncio.gather(*(world.customer.place(order_id=order_id) for _ in range(2)))
    # Whatever follows from the second request has happened when a later order has come to its end.
    later = await world.customer.place()
    await eventually(lambda: world.have_receipts(order_id, later))
    assert await world.charges() == world.mails() == Counter([order_id, later])


async def test_messages_that_are_delivered_twice_have_one_effect(world) -> None:
    tap = await world.broker._channel.declare_queue("tap")
    for exchange in ("commands", "events"):
        await tap.bind(exchange, "#")
    order_id = await world.customer.place()
    copied = []
    while len(copied) < 3:  # each as soon as it is there: its original may still be in hand
        copy = await world.broker.take("tap")
        if copy.type not in CATALOGUE:  # what the doctor of a service tries at its start
            continue
        # Past the tap, to the one queue.
        await world.broker.publish("returns", CATALOGUE[copy.type].queue, copy.body, type=copy.type)
        copied.append(copy.type)
    assert copied == ["card.charge", "payment.taken", "receipt.send"]
    later = await world.customer.place()
    await eventually(lambda: world.have_receipts(order_id, later))
    assert await world.charges() == world.mails() == Counter([order_id, later])


async def test_orders_end_paid_once_though_payments_is_killed_over_them(world) -> None:
    order_ids = [await world.customer.place()]
    await eventually(world.charges)
    waiting = "select count(*) from pg_locks where relation = 'charges'::regclass and not granted"
    async with world.payments.transaction():
        # The other charges wait, so that the kill finds them under way.
        await world.payments.execute("lock table charges in share row exclusive mode")
        order_ids += await asyncio.gather(*(world.customer.place() for _ in range(20)))
        await eventually(lambda: world.payments.fetchval(waiting))
        world.shop.kill("payments")
    assert len(await world.charges()) < len(order_ids)
    world.shop.start("payments")
    await eventually(lambda: world.have_receipts(*order_ids))
    assert await world.charges() == world.mails() == Counter(order_ids)


async def test_a_charge_that_fails_for_a_passing_reason_is_tried_again(world) -> None:
    order_id = await world.customer.place("busy-once")
    waiting = "select headers ->> 'failure-message' from outbox where deliver_at > now()"
    reason = await eventually(lambda: world.payments.fetchval(waiting))
    assert reason == "the card network is busy"
    await eventually(lambda: world.have_receipts(order_id))
    assert await world.charges() == world.mails() == Counter([order_id])


async def test_a_card_that_is_declined_ends_its_order(world) -> None:
    order_id = await world.customer.place("expired")
    await eventually(lambda: world.has_state(order_id, "declined"))
    assert await world.charges() == world.mails() == Counter()


async def test_an_impossible_amount_is_a_dead_letter_with_its_reason(world) -> None:
    order_id = await world.customer.place(cents=1_000_001)
    dead = await world.broker.take("payments-commands-dlq")
    assert str(order_id).encode() in dead.body
    assert dead.headers["failure-reason"] == "permanent"
    assert dead.headers["failure-message"] == "no card takes 1000001 cents: split the order, 1000000 at most"
    assert dead.headers["failure-attempts"] == 1
    assert await world.customer.state(order_id) == "placed"


async def test_a_mail_is_not_sent_again_after_its_sender_died_before_it_could_say_so(world) -> None:
    def kill_its_sender() -> str:
        world.shop.kill("orders")
        return "250 kept"

    world.mailbox.answer = kill_its_sender
    order_id = await world.customer.place()
    await eventually(lambda: world.mailbox.mails)
    world.mailbox.answer = lambda: "250 kept"
    await world.orders.execute("update receipts set armed_at = armed_at - interval '1 hour'")
    world.shop.start("orders")
    dead = await world.broker.take("orders-commands-dlq")
    assert dead.headers["failure-reason"] == "permanent"
    assert dead.headers["failure-message"].startswith(f"the mail of order {order_id} may have been sent")
    assert world.mails() == Counter([order_id])
    assert not await world.have_receipts(order_id)


async def test_a_mail_that_may_be_on_its_way_is_waited_for(world) -> None:
    query = "insert into receipts (order_id, email, cents) values ($1, 'customer@example.org', 4200)"
    order_id = uuid4()
    await world.orders.execute(query, order_id)
    await world.customer.place(order_id=order_id)
    waiting = "select headers ->> 'failure-message' from outbox where deliver_at > now()"
    assert "another process may be sending it" in await eventually(lambda: world.orders.fetchval(waiting))
    await world.orders.execute("update receipts set confirmed_at = now()")
    await eventually(lambda: _is_handled(world, "receipt.send"))
    assert world.mails() == Counter()


async def test_a_mail_that_was_refused_is_sent_later(world) -> None:
    answers = iter(["451 later, please"])
    world.mailbox.answer = lambda: next(answers, "250 kept")
    order_id = await world.customer.place()
    await eventually(lambda: world.have_receipts(order_id))
    assert world.mails() == Counter([order_id])


async def _is_handled(world, message_type: str) -> bool:
    query = "select count(*) from processed_events where type = $1 and outcome = 'handled'"
    return bool(await world.orders.fetchval(query, message_type))
