"""Commands about what goes out when: posts, which social has, and articles and schedules, which the orchestrator has."""

from brandctl.calendar.commands import app as calendar_app

__all__ = ["calendar_app"]
