"""What keeps the writing of an article over crashes, waits and replicas: its steps, and who has it in hand."""

from orchestrator.writing.durable.commands import (
    Command,
    PutDown,
    is_ours,
    note_problem,
    put_down,
    put_down_to_wait,
    release_holds,
    take_up,
)
from orchestrator.writing.durable.openings import Asked, Opening, Openings
from orchestrator.writing.durable.results import delete_old_workflows
from orchestrator.writing.durable.workflow import Workflow, finish

__all__ = [
    "Asked",
    "Command",
    "Opening",
    "Openings",
    "PutDown",
    "Workflow",
    "delete_old_workflows",
    "finish",
    "is_ours",
    "note_problem",
    "put_down",
    "put_down_to_wait",
    "release_holds",
    "take_up",
]
