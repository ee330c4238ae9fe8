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
* A step that is done `quick`ly, with `quick`, has its row once the workflow is finished, in the caller's transaction: it saves a commit,
  and a process that dies before does the step again. If a replica has stored another result meanwhile, `finish` raises, and the next
  run goes on with that one.
* A result of more than 64 kB is kept once for all steps that have the same, and goes with the last of them.
* Results are JSON of a pydantic type. Changing the type of a step means a new step name: a workflow that was under way
  during the upgrade would not understand its old result.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from typing import Final, Self, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from chassis import Connection
from messaging import Database, WaitFor
from orchestrator.writing.durable.results import (
    LARGE,
    UnsavedStep,
    delete_results,
    finish_steps,
    insert_result,
    results_of,
)

ResultT = TypeVar("ResultT")
QUICK: Final = 1.0
"""Seconds: what took longer is stored at once."""


class StoredMeanwhileError(WaitFor):
    """A replica has stored another result of a step of which we have one that is not stored."""

    def __init__(self, workflow_id: UUID) -> None:
        super().__init__(
            "a replica", f"one has gone on with workflow {workflow_id}", after=timedelta(seconds=1)
        )


class DurableWorkflow:
    """One run of a workflow; made by `resume`. `workflow_id` is its identity over crashes and replicas."""

    def __init__(self, database: Database, workflow_id: UUID, results: dict[str, str]) -> None:
        self._database = database
        self.workflow_id = workflow_id
        self._results = results
        self._unstored: list[tuple[float, UnsavedStep]] = []
        """Steps without a row yet, and when they were done."""

    @classmethod
    async def resume(cls, database: Database, workflow_id: UUID) -> Self:
        """Begins the workflow, or takes it up after the steps that have a result."""
        async with database.connection() as connection:
            return cls(database, workflow_id, await results_of(connection, workflow_id))

    async def step(
        self,
        name: str,
        result_type: TypeAdapter[ResultT],
        work: Callable[[], Awaitable[ResultT]],
        *,
        quick: bool = False,
    ) -> ResultT:
        """The result of the step, from its row or else from doing the work.

        Args:
            name: of the step.
            result_type: of its result.
            work: what is done.
            quick: whether doing it again costs less than a row: unless it took long, it is stored by `finish`.

        Raises:
            Exception: whatever `work` raises; nothing is stored then, and the next run tries the step again.
        """
        if name not in self._results:
            begun = monotonic()
            result = await work()
            done = monotonic()
            took = timedelta(seconds=done - begun)
            stored = result_type.dump_json(result)
            if quick and done - begun < QUICK and len(stored) <= LARGE:
                self._unstored.append((done, UnsavedStep(name, stored.decode(), took)))
                return result
            async with self._database.connection() as connection:
                faster = await insert_result(connection, self.workflow_id, name, stored.decode(), took)
            if faster is None:
                return result
            self._results[name] = faster
        return result_type.validate_json(self._results[name])

    def has(self, name: str) -> bool:
        """Whether the step has a result as far as this run knows."""
        return name in self._results

    async def finish(self, connection: Connection, *names: str) -> set[str]:
        """As `finish`, of this one alone: those of the steps that were not done before."""
        return set(names) if await finish(connection, [(self, names)]) else set()

    @property
    def unstored(self) -> list[UnsavedStep]:
        """What was quick, and has no row yet."""
        now = monotonic()
        return [replace(done, ago=timedelta(seconds=now - since)) for since, done in self._unstored]

    async def forget(self, connection: Connection) -> None:
        """Removes its rows, in the caller's transaction: what it is about was removed."""
        await delete_results(connection, self.workflow_id)


async def finish(
    connection: Connection, workflows: Sequence[tuple[DurableWorkflow, Sequence[str]]]
) -> list[DurableWorkflow]:
    """Marks steps without a result as done, in the caller's transaction, and stores what was quick; a workflow's all or none.

    Returns:
        Those of the workflows whose steps were not done before, each id once.

    Raises:
        StoredMeanwhileError: not all that the steps of one follow from is its own; the transaction must not commit.
    """
    done = [
        (workflow.workflow_id, each)
        for workflow, names in workflows
        for each in (*workflow.unstored, *map(UnsavedStep, names))
    ]
    found = await finish_steps(connection, done) if done else set()
    fresh: list[DurableWorkflow] = []
    for workflow, names in workflows:
        mine = {(workflow.workflow_id, name) for name in names}
        unstored = {(workflow.workflow_id, each.step) for each in workflow.unstored}
        if mine <= found:
            if names and not unstored <= found:
                raise StoredMeanwhileError(workflow.workflow_id)
            fresh.append(workflow)
        # What comes for the same once more is not fresh.
        found -= mine
    return fresh
