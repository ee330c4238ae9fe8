"""Durable steps: a sequence of slow work that continues where it stopped after a crash.

    workflow = await DurableWorkflow.resume(database, content_id)
    sources = await workflow.step("fetch_research", SOURCES, fetch)
    article = await workflow.step("write_article", ARTICLE, partial(write, sources))

    async def record(tx: Transaction) -> None:          # the last steps share the caller's transaction
        if "store" in await workflow.finish(tx.connection, "store", "announce"):
            ...

A step is work (no transaction open), then its result as a row of `workflow_steps`, committed on its own. A
step with a row does not run again: its stored result is returned. Guarantees and their limits:

* A step may *run* more than once (the process dies between work and row; two replicas run the same workflow), so its
  work has to be repeatable. Its *result* exists once: the first row stays, and every replica continues with it.
* `finish` gives a step to exactly one transaction that commits. The work guarded by it happens once.
* With `quick`, a short step gets its row from `finish`, in the caller's transaction. That saves a commit, and a process
  that dies before repeats the step. If a replica has stored another result meanwhile, `finish` raises, and the next
  run continues with that result.
* A result of more than 64 kB is stored once for all steps with the same result, and is deleted with the last of them.
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
from orchestrator.article_workflow.durable.results import (
    LARGE,
    UnsavedStep,
    delete_results,
    finish_steps,
    insert_result,
    results_of,
)

ResultT = TypeVar("ResultT")
QUICK: Final = 1.0
"""Seconds; a longer step is stored at once."""


class StoredMeanwhileError(WaitFor):
    """Another replica has stored a different result for a step, and our own result is not stored yet."""

    def __init__(self, workflow_id: UUID) -> None:
        super().__init__(
            "a replica", f"one has gone on with workflow {workflow_id}", after=timedelta(seconds=1)
        )


class DurableWorkflow:
    """One run of a workflow, made by `resume`. `workflow_id` identifies it across crashes and replicas."""

    def __init__(self, database: Database, workflow_id: UUID, results: dict[str, str]) -> None:
        self._database = database
        self.workflow_id = workflow_id
        self._results = results
        self._unstored: list[tuple[float, UnsavedStep]] = []
        """Finished steps without a row, with the time of their end."""

    @classmethod
    async def resume(cls, database: Database, workflow_id: UUID) -> Self:
        """Begins the workflow, or continues it after its finished steps."""
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
        """Returns the stored result of a step, or runs `work` and stores its result.

        Args:
            name: of the step.
            result_type: of its result.
            work: to run.
            quick: true if repeating the step costs less than a row; `finish` then stores it, unless it took long.

        Raises:
            Exception: any error of `work`; nothing is stored then, and the next run tries the step again.
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
        """Whether this run knows a result of the step."""
        return name in self._results

    async def finish(self, connection: Connection, *names: str) -> set[str]:
        """Finishes this workflow alone; returns those of the steps that were not done before."""
        return set(names) if await finish(connection, [(self, names)]) else set()

    @property
    def unstored(self) -> list[UnsavedStep]:
        """The finished steps without a row."""
        now = monotonic()
        return [replace(done, ago=timedelta(seconds=now - since)) for since, done in self._unstored]

    async def forget(self, connection: Connection) -> None:
        """Deletes its rows in the caller's transaction, because its article was deleted."""
        await delete_results(connection, self.workflow_id)


async def finish(
    connection: Connection, workflows: Sequence[tuple[DurableWorkflow, Sequence[str]]]
) -> list[DurableWorkflow]:
    """Stores steps as done, and quick results, in the caller's transaction; of each workflow all or none.

    Returns:
        The workflows whose steps were not done before, each id once.

    Raises:
        StoredMeanwhileError: a workflow's steps rest on results of another replica; the transaction must not commit.
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
        # A second entry for the same steps is not fresh.
        found -= mine
    return fresh
