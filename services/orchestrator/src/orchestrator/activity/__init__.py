"""How brands fare, in one answer for all of them: what waits for a person, what their last audits found, and what came of late."""

from orchestrator.activity.routes import activity_routes

__all__ = ["activity_routes"]
