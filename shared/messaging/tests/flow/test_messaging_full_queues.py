"""A queue of somebody else's that refuses what is published to it."""

import aio_pika
import structlog

from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted, ResearchRequested


async def test_a_full_queue_does_not_make_its_neighbours_receive_the_same_again_and_again(world) -> None:
    service = world.service()
    connection = await aio_pika.connect(world.rabbitmq_url)
    async with connection, connection.channel() as channel, running(service):
        full = await channel.declare_queue(
            "outsider", arguments={"x-max-length": 1, "x-overflow": "reject-publish"}
        )
        await full.bind(CATALOGUE.events, "research.completed")
        with structlog.testing.capture_logs() as logs:
            async with service.database.transaction() as tx:
                for number in range(16):
                    tx.send(
                        ResearchCompleted(
                            brand_slug="acme", research_id=world.request().event_id, keyword=f"k{number}"
                        )
                    )
            await eventually(lambda: [each["event"] for each in logs].count("queue_full") >= 3)
            async with service.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="another route"))
            # Another route is as quick as ever, though this one rests.
            await eventually(lambda: world.has_waiting(1), within=1)
        assert [each["retry_seconds"] for each in logs if each["event"] == "queue_full"][:3] == [1, 2, 4]
        # All at first, and after each pause one that finds out.
        assert await world.broker.depth(CATALOGUE.events_queue) <= 16 + 4
        assert await world.database.fetchval("select count(*) from outbox where last_error like 'QueueFull%'")
        await full.delete(if_empty=False)
        await eventually(world.outbox_is_empty)
    assert service._relay.counts.failed["full"] >= 3
