"""Keeps the writing of an article safe across crashes, waits and replicas: durable steps and claims."""

from orchestrator.article_workflow.durable.claim_batcher import ClaimBatcher, CommandState, WritingCommand
from orchestrator.article_workflow.durable.commands import (
    DeliveredCommand,
    ReleasedWriting,
    claim_article,
    has_claim,
    note_problem,
    release_articles,
    release_holds,
    release_to_wait,
)
from orchestrator.article_workflow.durable.results import delete_old_workflows
from orchestrator.article_workflow.durable.workflow import DurableWorkflow, finish

__all__ = [
    "ClaimBatcher",
    "CommandState",
    "DeliveredCommand",
    "DurableWorkflow",
    "ReleasedWriting",
    "WritingCommand",
    "claim_article",
    "delete_old_workflows",
    "finish",
    "has_claim",
    "note_problem",
    "release_articles",
    "release_holds",
    "release_to_wait",
]
