"""Shows the steps and waits of each article's writing, and lets people retry or cancel it."""

from orchestrator.workflows.control import UnknownWorkflowError, WorkflowStateError
from orchestrator.workflows.routes import workflow_routes
from orchestrator.workflows.store import count_by_state

__all__ = ["UnknownWorkflowError", "WorkflowStateError", "count_by_state", "workflow_routes"]
