"""The state of all brands in one answer: waiting reviews, the last audit, recent results."""

from orchestrator.activity.routes import activity_routes

__all__ = ["activity_routes"]
