"""A service runs its doctor once when it starts, and works all the same."""

from collections.abc import Awaitable, Callable
from typing import Any

import aio_pika
from structlog.testing import capture_logs

from chassis.testing import eventually, running
from envelope.brand.payloads import ResearchRequested
from messaging import on_batch
from messaging.topology import DEAD_LETTERS

QUEUE = "research-commands"


async def test_what_failed_at_the_start_is_logged_once_and_the_service_works(
    world: Any,
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    make_database: Callable[[str], Awaitable[str]],
) -> None:
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        await channel.exchange_delete(DEAD_LETTERS)
    service = world.service(
        rabbitmq_url=broker_urls["research"], database_url=await make_database("research")
    )
    handled = []

    async def note(messages: Any, _tx: Any) -> None:
        handled.extend(messages)

    service.consume(QUEUE, on_batch(note, ResearchRequested))
    with capture_logs() as logs:

        async def found() -> list[str]:
            return [each["probe"] for each in logs if each["event"] == "doctor_found"]

        async with running(service):
            assert await eventually(found) == ["dead_letter_exchange"]
            await world.send(world.request())
            await eventually(lambda: handled)
        assert await found() == ["dead_letter_exchange"]
    assert next(each for each in logs if each["event"] == "doctor_found")["log_level"] == "error"
