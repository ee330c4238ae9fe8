"""How the writing of each article goes: its steps, what it waits for, and what stands still."""

from orchestrator.workflows.routes import workflow_routes
from orchestrator.workflows.store import in_states

__all__ = ["in_states", "workflow_routes"]
