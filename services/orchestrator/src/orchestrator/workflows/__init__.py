"""How the writing of each article goes: its steps, what it waits for, and what a person does about one that stands still."""

from orchestrator.workflows.routes import answer_refusals, workflow_routes
from orchestrator.workflows.store import in_states

__all__ = ["answer_refusals", "in_states", "workflow_routes"]
