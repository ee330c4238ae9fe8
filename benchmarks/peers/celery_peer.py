"""Celery: late acknowledgement, tasks run in the worker's own process over one connection that stays open."""

import os
from pathlib import Path
from typing import Any

import envelopes
import psycopg
from celery import Celery
from celery.signals import worker_process_init, worker_ready, worker_shutdown

PREFETCH = 100

app = Celery("peers", broker=envelopes.RABBITMQ_URL)
app.conf.task_default_queue = envelopes.QUEUE
app.conf.task_ignore_result = True
app.conf.worker_redirect_stdouts = False  # or the line that says we are ready goes to the log
# Tasks of about a millisecond: Celery's guide asks for a large multiplier then.
app.conf.worker_prefetch_multiplier = PREFETCH
if envelopes.DURABLE:
    app.conf.task_default_queue_type = "quorum"
    app.conf.worker_detect_quorum_queues = True
    app.conf.broker_transport_options = {"confirm_publish": True}
    app.conf.task_acks_late = True
    app.conf.task_reject_on_worker_lost = True
    app.conf.task_acks_on_failure_or_timeout = False


class Database:
    connection: "psycopg.Connection[Any]"


@worker_process_init.connect
def connect(**_: Any) -> None:
    Database.connection = psycopg.connect(envelopes.DATABASE_URL, autocommit=True)


@worker_shutdown.connect
def disconnect(**_: Any) -> None:
    Database.connection.close()


@worker_ready.connect
def ready(**_: Any) -> None:
    envelopes.say_ready()


@app.task(name="research.requested")
def on_research_requested(envelope: dict[str, Any]) -> None:
    envelopes.record_sync(Database.connection, envelopes.Effect.of(envelope))


def prepare() -> None:
    envelopes.create_inbox()
    envelopes.drop_queues(envelopes.QUEUE)
    with app.connection_for_write() as connection:
        app.amqp.queues[envelopes.QUEUE](connection).declare()


def fill(file: Path) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        for envelope in envelopes.envelopes(file):
            on_research_requested.apply_async((envelope,), producer=producer)


def work() -> None:
    app.worker_main(
        [
            "--quiet",
            "worker",
            # One process as every other program here. With a pool of one process beside it (prefork) a worker is two, and
            # took half as much processor time again for each task.
            "--pool=solo",
            "--concurrency=1",
            f"--hostname=worker-{os.getpid()}@%h",  # two of a name are in each other's way
            "--without-gossip",
            "--without-mingle",
            "--loglevel=ERROR",
        ]
    )


if __name__ == "__main__":
    envelopes.main(prepare=prepare, fill=fill, work=work)
