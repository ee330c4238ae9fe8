"""DBOS: one durable workflow for each message, whose id is the event's, and one step that writes."""

import secrets
import signal
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import envelopes
import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions, SQLAlchemyDatasource

APPLICATION = "peers"
VERSION = "1"
AT_ONCE = 50
POLLING_SECONDS = 0.05
CHUNK = 500
LOOK_FOR_THE_DEAD_SECONDS = 5.0

_INSERT = sqlalchemy.text("insert into effects values (:event_id, :keyword, :made_at)")

# Names the process, as DBOS asks where several share a queue, and is the key of a lock that the process holds as it lives.
executor = secrets.randbits(62)
engine = sqlalchemy.create_engine(
    envelopes.DATABASE_URL.replace("postgresql://", "postgresql+psycopg://"),
    pool_size=AT_ONCE,
    max_overflow=0,
)
config: DBOSConfig = {
    "name": APPLICATION,
    "system_database_url": envelopes.DATABASE_URL,
    "application_version": VERSION,
    "executor_id": str(executor),
    "log_level": "ERROR",
}


class Transactions:
    source: SQLAlchemyDatasource


@DBOS.workflow(name="research.requested")
def on_research_requested(envelope: dict[str, Any]) -> None:
    if envelopes.IDEMPOTENT:
        # The effect and DBOS's own record that this step is done are one transaction.
        Transactions.source.run_tx_step(
            {"name": "insert", "isolation_level": "READ COMMITTED"}, insert_in_transaction, envelope
        )
    else:
        insert(envelope)


def insert_in_transaction(envelope: dict[str, Any]) -> None:
    Transactions.source.sql_session().execute(_INSERT, row(envelope))


@DBOS.step()
def insert(envelope: dict[str, Any]) -> None:
    with engine.begin() as connection:
        connection.execute(_INSERT, row(envelope))


def row(envelope: dict[str, Any]) -> dict[str, Any]:
    effect = envelopes.Effect.of(envelope)
    return {"event_id": effect.event_id, "keyword": effect.keyword, "made_at": effect.made_at}


def launch() -> None:
    DBOS(config=config)
    Transactions.source = SQLAlchemyDatasource.create(envelopes.DATABASE_URL, engine=engine)
    DBOS.launch()
    # Without a limit the first process to look would take the whole backlog for itself.
    DBOS.register_queue(envelopes.QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=POLLING_SECONDS)


def prepare() -> None:
    with psycopg.connect(envelopes.DATABASE_URL, autocommit=True) as connection:
        connection.execute("drop schema if exists dbos cascade")
    launch()
    DBOS.destroy()


def fill(file: Path) -> None:
    client = DBOSClient(system_database_url=envelopes.DATABASE_URL, application_name=APPLICATION)
    every = list(envelopes.envelopes(file))
    for start in range(0, len(every), CHUNK):
        with engine.begin() as connection:
            for envelope in every[start : start + CHUNK]:
                options: EnqueueOptions = {
                    "queue_name": envelopes.QUEUE,
                    "workflow_name": "research.requested",
                }
                if envelopes.IDEMPOTENT:
                    options["workflow_id"] = envelope["event_id"]  # a second one of an id is not enqueued
                client.enqueue_in_transaction(connection, options, envelope)
    client.destroy()


def resume_of_the_dead(lock: "psycopg.Connection[Any]") -> None:
    """Puts back what processes that died had in hand.

    DBOS leaves that to its Conductor, a service of its own, or to a restart under the same executor id.
    """
    pending = defaultdict(list)
    for status in DBOS.list_workflows(
        status="PENDING", queue_name=envelopes.QUEUE, load_input=False, load_output=False
    ):
        if status.executor_id is not None:
            pending[int(status.executor_id)].append(status.workflow_id)
    for other, workflows in pending.items():
        if other == executor:
            continue
        taken = lock.execute("select pg_try_advisory_lock(%s)", [other]).fetchone()
        if taken == (True,):
            DBOS.resume_workflows(workflows, queue_name=envelopes.QUEUE)
            lock.execute("select pg_advisory_unlock(%s)", [other])


def work() -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with psycopg.connect(envelopes.DATABASE_URL, autocommit=True) as lock:
        lock.execute("select pg_advisory_lock(%s)", [executor])
        launch()
        envelopes.say_ready()
        while not stop.wait(LOOK_FOR_THE_DEAD_SECONDS):
            resume_of_the_dead(lock)
        DBOS.destroy(workflow_completion_timeout_sec=10)


if __name__ == "__main__":
    envelopes.main(prepare=prepare, fill=fill, work=work)
