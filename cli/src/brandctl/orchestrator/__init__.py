"""What the orchestrator is asked and told."""

from brandctl.orchestrator.content import app as content_app

__all__ = ["content_app"]
