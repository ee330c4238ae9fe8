"""A brand's calendar: scheduled articles and firings of schedules."""

from orchestrator.calendar.routes import calendar_routes

__all__ = ["calendar_routes"]
