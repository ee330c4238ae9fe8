"""Shows the steps and waits of each article's writing, and lets people retry or cancel it."""

from orchestrator.workflows.routes import REFUSALS, workflow_routes
from orchestrator.workflows.store import count_by_state

__all__ = ["REFUSALS", "count_by_state", "workflow_routes"]
