"""What stays in the outbox: left by a crash, not to be routed, or too much of it."""

from uuid import uuid4

import pytest

from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ArticleContext, ResearchRequested, SocialCreate
from messaging import on_batch, topology

QUEUE = "research-commands"


@pytest.mark.extended
async def test_what_a_crashed_publisher_left_is_published_by_another(world) -> None:
    service = world.service("orchestrator")
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with running(service):
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="left behind"))
            rows, tx.outgoing = tx.outgoing, []
            # As a process leaves it that dies between commit and publish: written, leased, never published.
            await service._relay.write(tx.connection, rows)
            await tx.connection.execute("update outbox set due_at = clock_timestamp() + interval '1 second'")
        service._relay._wake.set()
        await eventually(world.effects)
        await eventually(world.outbox_is_empty)
    assert await world.effects() == ["left behind"]


async def test_an_unroutable_message_stays_in_the_outbox_and_holds_up_nobody(world) -> None:
    await world.broker.delete("social-commands")
    service = world.service("orchestrator")
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with running(service):
        async with service.database.transaction() as tx:
            article = ArticleContext(title="t", keyword="k", meta_description="")
            tx.send(
                SocialCreate(brand_slug="acme", content_id=world.request().event_id, article_context=article)
            )
            tx.send(ResearchRequested(brand_slug="acme", keyword="routable"))
        await eventually(world.effects)
        row = await eventually(
            lambda: world.database.fetchrow("select * from outbox where last_error is not null")
        )
    assert row["routing_key"] == "social-commands"
    assert "Unroutable" in row["last_error"]


@pytest.mark.extended
async def test_too_full_an_outbox_slows_consumption_until_it_has_drained(world) -> None:
    await world.broker.delete("social-commands")
    service = world.service("orchestrator")
    service._relay._backlog_limit = 5
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    article = ArticleContext(title="t", keyword="k", meta_description="")
    async with running(service):
        # A sweep that has looked already and not yet said so would say that nothing waits.
        await eventually(lambda: service._relay._planned)
        async with service.database.transaction() as tx:
            for _ in range(10):
                tx.send(SocialCreate(brand_slug="acme", content_id=uuid4(), article_context=article))
        assert "outbox" in await service.problems()
        await world.send(world.request("waits"))
        await eventually(lambda: service.runners[0].in_hand == 1)
        await eventually(lambda: world.database.fetchval("select bool_and(publish_attempts > 1) from outbox"))
        assert await world.effects() == []
        await topology.declare(world.rabbitmq_url, CATALOGUE)
        await eventually(world.effects)
        await eventually(lambda: world.is_ready(service))

        # It is ready while five still wait: each has a pause of its own.
        async def has_drained() -> bool:
            return await world.broker.depth("social-commands") == 10

        await eventually(has_drained)
