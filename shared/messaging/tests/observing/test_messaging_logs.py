"""Logs of handlers."""

import structlog

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, on_each

QUEUE = "research-commands"


async def test_logs_of_a_handler_carry_the_message_they_are_about(world) -> None:
    bound: list[dict[str, object]] = []

    async def note(_message: DomainMessage, _context: Context) -> None:
        bound.append(structlog.contextvars.get_contextvars())

    service = world.service()
    service.consume(QUEUE, on_each(note, ResearchRequested))
    message = world.request()
    async with running(service):
        await world.send(message, headers={"attempt": 2})
        await eventually(lambda: bound)
    delay = bound[0].pop("processing_delay_ms")
    assert isinstance(delay, int)
    assert 0 <= delay < 30_000
    assert bound[0] == {
        "event_id": str(message.event_id),
        "type": "research.requested",
        "correlation_id": "chain-1",
        "attempt": 2,
        "queue": QUEUE,
    }
