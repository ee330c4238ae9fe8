"""Shows the steps and waits of each article's writing, and lets people retry or cancel it."""

from orchestrator.workflows.routes import answer_refusals, workflow_routes
from orchestrator.workflows.store import in_states

__all__ = ["answer_refusals", "in_states", "workflow_routes"]
