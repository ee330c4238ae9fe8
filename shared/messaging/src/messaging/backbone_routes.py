"""`GET /v1/backbone`, for the API of every service that consumes; needs the extra `api`."""

import asyncio
import socket
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import Field

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from messaging.broker.queue_depths import read_queue_depths
from messaging.flow.transactions import Database
from messaging.running_code import running_code

COUNT_LIMIT: Final = 100_000
"""Rows of the outbox counted at most."""
_KEEP_SECONDS: Final = 2.0

# In the order of an index, which holds what is there and nothing of what a backlog of yesterday left behind.
_OUTBOX: Final = """
    with waiting as (select deliver_at from outbox order by due_at limit $1)
    select count(*) as depth, count(*) filter (where deliver_at <= clock_timestamp()) as due,
           min(deliver_at) filter (where deliver_at <= clock_timestamp()) as oldest_due_at, clock_timestamp() as now
    from waiting
"""


class QueueView(View):
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    ready: int | None
    """Messages that wait at the broker; null if the broker does not answer, or has no such queue."""
    consumers: int | None
    """Consumers of all processes."""
    is_consumed: bool
    """Whether the answering process consumes it now."""


class BreakerView(View):
    """Another system that handlers need."""

    name: Annotated[str, Field(examples=["gateway"])]
    trouble: str | None
    """Since when and why it is away; messages wait for it meanwhile. Null: it answers, as far as known."""


class ProblemView(View):
    part: Annotated[str, Field(examples=["database"])]
    problem: str


class OutboxView(View):
    depth: int
    """Messages that wait to be sent, later ones included; at most 100,000 are counted."""
    due: int
    """Those of them that should have left already."""
    oldest_due_at: datetime | None
    """When the oldest of these was due."""


class BackboneView(View):
    """The service's part of the backbone, as the answering process sees it."""

    process: str
    """Name of its machine or container."""
    version: str
    code: Annotated[str | None, Field(examples=["31e73da8a3441508"])]
    """A hash of the source that it runs; dead letters have that of the code in which they failed. Null if its source cannot be read."""
    is_ready: bool
    problems: tuple[ProblemView, ...]
    """What keeps it from working."""
    breakers: tuple[BreakerView, ...]
    queues: tuple[QueueView, ...]
    outbox: OutboxView
    now: datetime
    """Time of the answer, by the clock that `oldest_due_at` follows."""


def backbone_routes(database: Database) -> APIRouter:
    """The route of the service's queues, outbox and state."""
    routes = router("/backbone", tags=["backbone"])
    reading = asyncio.Lock()
    kept: list[tuple[float, BackboneView]] = []

    @routes.get(
        "",
        summary="Queues, outbox and state",
        # They are those of all brands.
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
    )
    async def get_backbone() -> BackboneView:
        """Returns the depth of the service's queues and of its outbox, and the state of the process that answers.

        An answer is kept for two seconds.
        """
        clock = asyncio.get_running_loop().time
        async with reading:
            if not kept or clock() - kept[0][0] > _KEEP_SECONDS:
                kept[:] = [(clock(), await _read(database))]
            return kept[0][1]

    return routes


async def _read(database: Database) -> BackboneView:
    process = database.process
    consumed = {} if process is None else process.consumed
    breakers = {} if process is None else process.breakers
    code = running_code(database.catalogue.system, database.service)
    problems, depths, outbox = await asyncio.gather(
        _problems(database),
        read_queue_depths(database.broker_url, consumed, name=f"{database.service} backbone"),
        _outbox(database),
    )
    return BackboneView(
        process=socket.gethostname(),
        version=code.version,
        code=code.hash or None,
        is_ready=not problems,
        problems=tuple(ProblemView(part=part, problem=text) for part, text in problems.items()),
        breakers=tuple(BreakerView(name=name, trouble=trouble) for name, trouble in breakers.items()),
        queues=tuple(
            QueueView(
                queue=queue,
                ready=depths[queue].ready if queue in depths else None,
                consumers=depths[queue].consumers if queue in depths else None,
                is_consumed=is_consumed,
            )
            for queue, is_consumed in consumed.items()
        ),
        outbox=OutboxView(depth=outbox["depth"], due=outbox["due"], oldest_due_at=outbox["oldest_due_at"]),
        now=outbox["now"],
    )


async def _problems(database: Database) -> dict[str, str]:
    return {} if database.process is None else await database.process.problems()


async def _outbox(database: Database) -> Any:
    async with database.connection() as connection:
        return await connection.fetchrow(_OUTBOX, COUNT_LIMIT)
