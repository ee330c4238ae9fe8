"""Keeps the writing of an article safe across crashes, waits and replicas: durable steps and claims."""

from orchestrator.writing.durable.commands import (
    DeliveredCommand,
    ReleasedWriting,
    is_ours,
    note_problem,
    put_down,
    put_down_to_wait,
    take_up,
)
from orchestrator.writing.durable.openings import ClaimBatcher, CommandState, WritingCommand
from orchestrator.writing.durable.results import delete_old_workflows
from orchestrator.writing.durable.workflow import DurableWorkflow, finish

__all__ = [
    "ClaimBatcher",
    "CommandState",
    "DeliveredCommand",
    "DurableWorkflow",
    "ReleasedWriting",
    "WritingCommand",
    "delete_old_workflows",
    "finish",
    "is_ours",
    "note_problem",
    "put_down",
    "put_down_to_wait",
    "take_up",
]
