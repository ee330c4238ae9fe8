"""What is to happen when: articles that are published at a time, and schedules that fire."""

from orchestrator.calendar.routes import calendar_routes

__all__ = ["calendar_routes"]
