"""Retries the writing of an article that failed or is stuck, and cancels one that is not written yet.

A repeated request changes nothing. Both lock the article's row in `writings`, then the brand: so nothing of it is stored
meanwhile, and two people decide one after the other.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never
from uuid import UUID

from chassis.http.callers import Caller
from envelope.brand.payloads import ContentGenerate
from messaging import Database, Transaction
from orchestrator.cycles import (
    BrandLimits,
    KeywordRow,
    cancel_writing,
    load_keywords,
    lock_brand,
    write_again,
)
from orchestrator.workflows import store
from orchestrator.workflows.domain import WorkflowState
from orchestrator.workflows.store import ArticleWorkflow


class UnknownWorkflowError(LookupError):
    """The workflow does not exist, or the caller may not see it."""

    def __init__(self, content_id: UUID) -> None:
        super().__init__(
            f"there is no workflow {content_id}; GET /v1/workflows lists those whose cycle is kept"
        )


class WorkflowStateError(ValueError):
    """The workflow's state does not allow this; the message says what is possible."""


@dataclass(frozen=True, slots=True)
class ControlledWorkflow:
    workflow: ArticleWorkflow
    """Its present state."""
    changed: bool


async def retry(
    database: Database, content_id: UUID, caller: Caller, *, anew: bool, stuck_after: timedelta
) -> ControlledWorkflow:
    """Sends a command again for an article that failed or is stuck; changes nothing if one is under way.

    It continues after the last stored result. With `anew` its writer starts over: a model is asked, and paid, again.

    Raises:
        UnknownWorkflowError: it does not exist, or the caller may not see it.
        WorkflowStateError: there is nothing to write, or its brand or cycle is held up.
    """
    async with database.transaction() as tx:
        workflow, row = await _locked(tx, content_id, caller, stuck_after)
        match workflow.state:
            case WorkflowState.WAITING | WorkflowState.RUNNING:
                return ControlledWorkflow(workflow, changed=False)
            case WorkflowState.DONE:
                raise WorkflowStateError("its article is written; return the draft to have it rewritten")
            case WorkflowState.REFUSED:
                raise WorkflowStateError(
                    "its sources support no article; submit its keyword again once there is more to write from"
                )
            case WorkflowState.CANCELLED:
                raise WorkflowStateError(f"it was {row.facts.reason}; submit its keyword again")
            case WorkflowState.FAILED | WorkflowState.STUCK:
                if row.in_cancelled_cycle or row.held_up is not None:
                    why = row.held_up or "its cycle was cancelled: submit its keyword again"
                    raise WorkflowStateError(f"it cannot begin now: {why}")
                event_id = await _send_again(tx, workflow, row)
                sent_before = event_id if row.command is None else row.command.event_id
                steps_id = event_id if anew else workflow.steps_id or sent_before
                former_ids = [sent_before] if workflow.revision is None and row.command is not None else []
                await store.set_current_command(
                    tx.connection, workflow, event_id, steps_id, by=caller.name, former_ids=former_ids
                )
            case _ as unreachable:
                assert_never(unreachable)
        return ControlledWorkflow(await _now(tx, content_id, stuck_after), changed=True)


async def cancel(
    database: Database, content_id: UUID, caller: Caller, *, limits: BrandLimits, stuck_after: timedelta
) -> ControlledWorkflow:
    """Cancels an article that is not written yet, and its keyword. A running step ends, and nothing follows from it.

    Raises:
        UnknownWorkflowError: it does not exist, or the caller may not see it.
        WorkflowStateError: it has ended, or it is a rewrite for a reviewer.
    """
    async with database.transaction() as tx:
        workflow, row = await _locked(tx, content_id, caller, stuck_after)
        match workflow.state:
            case WorkflowState.CANCELLED:
                return ControlledWorkflow(workflow, changed=False)
            case WorkflowState.DONE:
                raise WorkflowStateError("its article is written; a draft that waits can be rejected")
            case WorkflowState.REFUSED:
                raise WorkflowStateError("it has ended without an article")
            case _ if workflow.revision is not None:
                raise WorkflowStateError(
                    "its draft was returned; approve it as it is with"
                    ' "despite_newer": true, and the rewrite is dropped'
                )
            case WorkflowState.WAITING | WorkflowState.RUNNING | WorkflowState.FAILED | WorkflowState.STUCK:
                now = await lock_brand(tx.connection, workflow.brand_slug)
                await store.record_cancellation(tx.connection, content_id, by=caller.name)
                await cancel_writing(tx, row, limits, by=caller.name, now=now)
            case _ as unreachable:
                assert_never(unreachable)
        return ControlledWorkflow(await _now(tx, content_id, stuck_after), changed=True)


async def _locked(
    tx: Transaction, content_id: UUID, caller: Caller, stuck_after: timedelta
) -> tuple[ArticleWorkflow, KeywordRow]:
    known = await store.find_workflow(
        tx.connection, content_id, caller.visible_brands(), stuck_after=stuck_after
    )
    if known is None:
        raise UnknownWorkflowError(content_id)
    await store.lock_writing(tx.connection, content_id)
    await lock_brand(tx.connection, known.brand_slug)
    rows = await load_keywords(tx.connection, [], [content_id])
    if not rows:
        raise UnknownWorkflowError(content_id)
    return await _now(tx, content_id, stuck_after), rows[0]


async def _now(tx: Transaction, content_id: UUID, stuck_after: timedelta) -> ArticleWorkflow:
    workflow = await store.find_workflow(tx.connection, content_id, None, stuck_after=stuck_after)
    if workflow is None:
        raise UnknownWorkflowError(content_id)
    return workflow


async def _send_again(tx: Transaction, workflow: ArticleWorkflow, row: KeywordRow) -> UUID:
    if workflow.revision is None:
        return await write_again(tx, row, now=await lock_brand(tx.connection, workflow.brand_slug))
    research_id, comment = await store.find_returned_draft(tx.connection, workflow.content_id)
    return tx.send(
        ContentGenerate(
            brand_slug=workflow.brand_slug,
            content_id=workflow.content_id,
            research_id=research_id,
            keyword=workflow.keyword,
            revision=workflow.revision,
            comment=comment,
        ),
        correlation_id=row.correlation_id,
    )
