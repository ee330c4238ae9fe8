"""Open loop: publishes on a fixed schedule with confirms, regardless of the consumers; a process of its own.

`python -m benchmarks.load.feeder FORM RATE SECONDS` with `RABBITMQ_URL`; the form is a key of `FORMS`. Each envelope's timestamp is its scheduled time, so
delays of the feeder or the broker count. Prints a JSON object at the end.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import uvloop

from benchmarks.load.messages import envelope, row_of
from messaging.broker.publisher import Publisher
from messaging.storage.outbox import OutboxRow

_TICK_SECONDS: Final = 0.001
_MOST_PUBLISHES: Final = 64
"""Unconfirmed publishes at a time; at the limit the feeder waits, and the messages' clocks run."""
_DEFAULT_EXCHANGE: Final = ""
_PEERS_QUEUE: Final = "research"
"""As in benchmarks/peers/envelopes.py."""


def _plain(row: OutboxRow) -> OutboxRow:
    """For the peers that take envelopes as they are."""
    return replace(row, exchange=_DEFAULT_EXCHANGE, routing_key=_PEERS_QUEUE)


def _dramatiq(row: OutboxRow) -> OutboxRow:
    """An envelope as the argument of the actor in benchmarks/peers/dramatiq_peer.py, as its `send` writes it."""
    head = {
        "queue_name": _PEERS_QUEUE,
        "actor_name": "on_research_requested",
        "kwargs": {},
        "options": {},
        "message_id": str(row.event_id),
        "message_timestamp": int(time.time() * 1000),
    }
    body = json.dumps(head).encode()[:-1] + b', "args": [' + row.body + b"]}"
    return replace(_plain(row), body=body)


FORMS: Final[Mapping[str, Callable[[OutboxRow], OutboxRow]]] = {
    "ours": lambda row: row,
    "plain": _plain,
    "dramatiq": _dramatiq,
}


class Feeder:
    """Sends message number n at `start + n / rate`."""

    def __init__(
        self, publisher: Publisher, form: Callable[[OutboxRow], OutboxRow], rate: float, seconds: float
    ) -> None:
        self._publisher = publisher
        self._form = form
        self._rate = rate
        self._total = int(rate * seconds)
        self._slots = asyncio.Semaphore(_MOST_PUBLISHES)
        self._worst_lag = 0.0
        self._refused = 0

    async def run(self) -> dict[str, float | int | str]:
        loop = asyncio.get_running_loop()
        began, began_at = loop.time(), datetime.now(UTC)
        sent = 0
        publishing: set[asyncio.Task[None]] = set()
        while sent < self._total:
            due = min(int((loop.time() - began) * self._rate) + 1, self._total)
            if due > sent:
                self._worst_lag = max(self._worst_lag, loop.time() - began - sent / self._rate)
                await self._slots.acquire()
                task = asyncio.create_task(self._publish(began_at, range(sent, due)))
                publishing.add(task)
                task.add_done_callback(publishing.discard)
                sent = due
            await asyncio.sleep(max(_TICK_SECONDS, began + sent / self._rate - loop.time()))
        await asyncio.gather(*publishing)
        return {
            "began_at": began_at.isoformat(),
            "sent": sent,
            "refused": self._refused,
            "worst_lag_ms": round(self._worst_lag * 1000, 2),
        }

    async def _publish(self, began_at: datetime, numbers: range) -> None:
        try:
            rows = [
                self._form(row_of(envelope(number, began_at + timedelta(seconds=number / self._rate))))
                for number in numbers
            ]
            outcomes = await self._publisher.publish(rows)
            self._refused += sum(outcome is not None for outcome in outcomes)
        finally:
            self._slots.release()


async def feed(form: str, rate: float, seconds: float) -> None:
    publisher = Publisher(os.environ["RABBITMQ_URL"], name="benchmarks feeder")
    running = asyncio.create_task(publisher.run())
    await publisher.wait_until_ready()
    print(json.dumps(await Feeder(publisher, FORMS[form], rate, seconds).run()), flush=True)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


if __name__ == "__main__":
    uvloop.run(feed(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
