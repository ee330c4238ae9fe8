"""Claims commands in batches, and reads what each needs to begin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chassis import DatabaseUnavailableError
from chassis.coalescing import RequestCoalescer
from messaging import Database
from orchestrator.article_workflow.durable.commands import DeliveredCommand, check_not_claimed, claim_articles
from orchestrator.article_workflow.durable.results import results_of_all
from orchestrator.article_workflow.durable.workflow import DurableWorkflow
from orchestrator.brands import BrandRow, find_brands
from orchestrator.removal import MessageSubject, find_late

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class WritingCommand:
    """A command before its claim."""

    command: DeliveredCommand
    brand_slug: str
    sent_at: datetime
    workflow_id: UUID
    """The id of the workflow's steps."""


@dataclass(frozen=True, slots=True)
class CommandState:
    """The state that a command finds as it begins."""

    late: bool = False
    """True if its article was deleted or its brand erased; there is no claim then."""
    brand: BrandRow | None = None
    """None if the brand is unknown; there is no claim then."""
    steps_id: UUID | None = None
    """The id of the writer's steps; None if the command must not run."""
    results: Mapping[str, str] | None = None
    """Results of finished steps as JSON, by step."""


class ClaimBatcher:
    """Claims commands in batches; `hold` is the longest claim, as of `claim_article`."""

    def __init__(self, database: Database, hold: timedelta) -> None:
        self._database = database
        self._hold = hold
        self._gathering: RequestCoalescer[WritingCommand, CommandState] = RequestCoalescer(
            self._claim_batch, limit=AT_ONCE
        )

    async def claim(self, asked: WritingCommand) -> CommandState:
        """Claims the command's article, unless it is too late or the brand is unknown.

        Raises:
            WaitFor: another command has claimed the article.
        """
        state = await self._gathering.get(asked)
        if state.brand is not None and state.steps_id is None:
            async with self._database.connection() as connection:
                await check_not_claimed(connection, asked.command)
        return state

    def workflow(self, asked: WritingCommand, state: CommandState) -> DurableWorkflow:
        """Returns the command's workflow, with the results of its finished steps."""
        return DurableWorkflow(self._database, asked.workflow_id, dict(state.results or {}))

    async def _claim_batch(
        self, asked: Sequence[WritingCommand]
    ) -> Mapping[WritingCommand, CommandState | Exception]:
        try:
            return await self._claim(asked)
        except DatabaseUnavailableError:
            raise
        except Exception:
            if len(asked) == 1:
                raise
        # One faulty command must not fail the others: claim them one by one.
        alone: dict[WritingCommand, CommandState | Exception] = {}
        for each in asked:
            try:
                alone |= await self._claim([each])
            except DatabaseUnavailableError:
                raise
            except Exception as error:  # noqa: BLE001  (raised again, to who asked)
                alone[each] = error
        return alone

    async def _claim(self, asked: Sequence[WritingCommand]) -> dict[WritingCommand, CommandState]:
        async with self._database.connection() as connection:
            late = await find_late(
                connection,
                [MessageSubject(each.brand_slug, each.sent_at, each.command.content_id) for each in asked],
            )
            brands = await find_brands(connection, {each.brand_slug for each in asked})
            begin = [
                each.command
                for each, is_late in zip(asked, late, strict=True)
                if not is_late and each.brand_slug in brands
            ]
            taken = await claim_articles(connection, begin, self._hold) if begin else {}
            # After the claim: the earlier worker stores nothing any more.
            further = [
                each.workflow_id
                for each in asked
                if (begun := taken.get(each.command)) is not None and not begun.is_first
            ]
            results = await results_of_all(connection, further) if further else {}
        return {
            each: CommandState(late=True)
            if is_late
            else CommandState(
                brand=brands.get(each.brand_slug),
                steps_id=taken[each.command].steps_id if each.command in taken else None,
                results=results.get(each.workflow_id),
            )
            for each, is_late in zip(asked, late, strict=True)
        }
