"""Our own side of the comparison: a service as any author would write it, in the protocol of `benchmarks.systems.programs`.

`SHAPE` chooses the handler: `drain` (set-based, one effect row), `outbox` (the same, and one outgoing message each) or `single`
(called per message). `POLICY`, a JSON object, overrides fields of the queue's policy, for trying out.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import uvloop

from benchmarks.load.messages import QUEUE, row_of
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted, ResearchRequested
from messaging import (
    Context,
    GroupedRecord,
    QueuePolicy,
    Service,
    ServiceSettings,
    Transaction,
    command_line,
    on_batch,
    on_each,
    topology,
)
from messaging.broker.publisher import Publisher
from messaging.flow.handlers import OnBatch, OnEach
from messaging.storage.migrations import migrate

_PUBLISHES: Final = 500
_IN_FLIGHT: Final = 4

_INSERT_ALL: Final = """
    insert into effects (event_id, keyword, made_at) select * from unnest($1::uuid[], $2::text[], $3::timestamptz[])
"""

Requested = DomainMessage[ResearchRequested]


# -- the service -------------------------------------------------------------------------------------------------------


async def effects_of(messages: Sequence[Requested], tx: Transaction) -> None:
    await tx.connection.execute(
        _INSERT_ALL,
        [message.event_id for message in messages],
        [message.payload.keyword for message in messages],
        [message.timestamp for message in messages],
    )


async def effects_and_answers_of(messages: Sequence[Requested], tx: Transaction) -> None:
    await effects_of(messages, tx)
    for message in messages:
        asked = message.payload
        answer = ResearchCompleted(
            brand_slug=asked.brand_slug, research_id=new_event_id(), keyword=asked.keyword
        )
        tx.send(answer, caused_by=message)


async def effects_together(tx: Transaction, messages: Sequence[Requested]) -> None:
    await effects_of(messages, tx)


async def effect_of(message: Requested, _context: Context) -> GroupedRecord[Requested]:
    return GroupedRecord(effects_together, message)


def handler_of(shape: str) -> OnBatch | OnEach:
    match shape:
        case "drain":
            return on_batch(effects_of, ResearchRequested)
        case "outbox":
            return on_batch(effects_and_answers_of, ResearchRequested)
        case "single":
            return on_each(effect_of, ResearchRequested)
        case _:
            raise ValueError(f"SHAPE={shape}: drain, outbox or single")


def build(settings: ServiceSettings) -> Service:
    service = Service("benchmarks", settings, CATALOGUE)
    policy: dict[str, Any] = json.loads(os.environ.get("POLICY", "{}"))
    service.consume(QUEUE, handler_of(os.environ.get("SHAPE", "drain")), policy=QueuePolicy(**policy))

    async def announce() -> None:
        while await service.problems():  # noqa: ASYNC110  (the service has no event for it; it is asked as a probe would)
            await asyncio.sleep(0.01)
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    service.background("announce", announce)
    return service


# -- the protocol ------------------------------------------------------------------------------------------------------


def work() -> None:
    os.environ["DATABASE_URL"] = os.environ["RUNTIME_URL"]
    os.environ.setdefault("HTTP_PORT", "0")
    sys.argv = ["benchmarks.systems.worker", "run"]
    command_line("benchmarks", ServiceSettings, build)


async def prepare() -> None:
    await migrate(os.environ["DATABASE_URL"], runtime_role=os.environ["DATABASE_RUNTIME_ROLE"])
    await topology.declare(os.environ["RABBITMQ_URL"], CATALOGUE)


async def fill(bodies: bytes) -> None:
    """Publishes every line, an envelope, as the relay would: persistent, mandatory, confirmed, many in one write."""
    publisher = Publisher(os.environ["RABBITMQ_URL"], name="benchmarks fill")
    running = asyncio.create_task(publisher.run())
    await publisher.wait_until_ready()
    lines = [line for line in bodies.split(b"\n") if line]
    chunks = iter([lines[start : start + _PUBLISHES] for start in range(0, len(lines), _PUBLISHES)])

    async def publish_chunks() -> None:
        for chunk in chunks:
            outcomes = await publisher.publish([row_of(line) for line in chunk])
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome

    await asyncio.gather(*(publish_chunks() for _ in range(_IN_FLIGHT)))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def main() -> None:
    match sys.argv[1:]:
        case ["prepare"]:
            asyncio.run(prepare())
        case ["fill", path]:
            uvloop.run(fill(Path(path).read_bytes()))
        case ["work"]:
            work()
        case _:
            sys.exit("usage: python -m benchmarks.systems.worker prepare | fill FILE | work")


if __name__ == "__main__":
    main()
