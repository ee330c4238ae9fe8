"""Durable steps: a sequence of slow work that, once killed, goes on where it stopped.

    workflow = await Workflow.resume(database, content_id)
    sources = await workflow.step("fetch_research", SOURCES, fetch)
    article = await workflow.step("write_article", ARTICLE, partial(write, sources))

    async def record(tx: Transaction) -> None:          # the last steps share the caller's transaction
        if "store" in await workflow.finish(tx.connection, "store", "announce"):
            ...

A step is work (no transaction open), then its result as a row of `workflow_steps`, committed on its own. A
step whose row is there is not run again: its stored result is returned. Guarantees and their limits:

* A step may *run* more than once (the process dies between work and row; two replicas run the same workflow), so its
  work has to be repeatable. Its *result* exists once: the first row stays, and everyone goes on with that one.
* `finish` names a step to exactly one transaction that commits. What it guards is done once.
* A result of more than 64 kB is kept once for all steps that have the same, and goes with the last of them.
* Results are JSON of a pydantic type. Changing the type of a step means a new step name: a workflow that was under way
  during the upgrade would not understand its old result.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import Self, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from chassis import Connection
from messaging import Database
from orchestrator.writing.durable.results import finish_steps, insert_result, results_of

ResultT = TypeVar("ResultT")


class Workflow:
    """One run of a workflow; made by `resume`. `workflow_id` is its identity over crashes and replicas."""

    def __init__(self, database: Database, workflow_id: UUID, results: dict[str, str]) -> None:
        self._database = database
        self.workflow_id = workflow_id
        self._results = results

    @classmethod
    async def resume(cls, database: Database, workflow_id: UUID) -> Self:
        """Begins the workflow, or takes it up after the steps that have a result."""
        async with database.connection() as connection:
            return cls(database, workflow_id, await results_of(connection, workflow_id))

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[], Awaitable[ResultT]]
    ) -> ResultT:
        """The result of the step, from its row or else from doing the work.

        Raises:
            Exception: whatever `work` raises; nothing is stored then, and the next run tries the step again.
        """
        if name not in self._results:
            begun = monotonic()
            result = await work()
            async with self._database.connection() as connection:
                took = timedelta(seconds=monotonic() - begun)
                faster = await insert_result(
                    connection, self.workflow_id, name, result_type.dump_json(result).decode(), took
                )
            if faster is None:
                return result
            self._results[name] = faster
        return result_type.validate_json(self._results[name])

    def has(self, name: str) -> bool:
        """Whether the step has a result as far as this run knows."""
        return name in self._results

    async def finish(self, connection: Connection, *names: str) -> set[str]:
        """Marks steps without a result as done, in the caller's transaction; returns those not done before."""
        return await finish_steps(connection, self.workflow_id, names)
