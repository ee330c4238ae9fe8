"""Dramatiq: one process with threads; each takes a connection to the database from a pool."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dramatiq
import envelopes
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from psycopg_pool import ConnectionPool

THREADS = 8

# Dramatiq declares its queues as classic ones and its maintainers took no quorum queues yet: durable, persistent (always so
# with Dramatiq) and confirmed is what it can do.
broker = RabbitmqBroker(url=envelopes.RABBITMQ_URL, confirm_delivery=envelopes.DURABLE)
dramatiq.set_broker(broker)

pool = ConnectionPool(
    envelopes.DATABASE_URL, min_size=THREADS, max_size=THREADS, kwargs={"autocommit": True}, open=False
)


@dramatiq.actor(queue_name=envelopes.QUEUE)
def on_research_requested(envelope: dict[str, Any]) -> None:
    with pool.connection() as connection:
        envelopes.record_sync(connection, envelopes.Effect.of(envelope))


def prepare() -> None:
    envelopes.create_inbox()
    envelopes.drop_queues(envelopes.QUEUE, f"{envelopes.QUEUE}.DQ", f"{envelopes.QUEUE}.XQ")
    broker.declare_queue(envelopes.QUEUE, ensure=True)
    broker.close()


def fill(file: Path) -> None:
    # `send` waits for each confirm; threads, each with a channel of its own, wait side by side.
    with ThreadPoolExecutor(8 if envelopes.DURABLE else 1) as threads:
        for _ in threads.map(on_research_requested.send, envelopes.envelopes(file)):
            pass
    broker.close()


def work() -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    pool.open(wait=True)
    worker = dramatiq.Worker(broker, worker_threads=THREADS)
    worker.start()
    envelopes.say_ready()
    stop.wait()
    worker.stop()
    broker.close()
    pool.close()


if __name__ == "__main__":
    envelopes.main(prepare=prepare, fill=fill, work=work)
