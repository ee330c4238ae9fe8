"""What happens by the clock: rows with the time at which they are due, each firing once."""

from orchestrator.schedule.firing import Scheduler
from orchestrator.schedule.routes import LARGER_BODIES, schedule_routes
from orchestrator.schedule.store import Schedule, active_of, count_states, until_next

__all__ = [
    "LARGER_BODIES",
    "Schedule",
    "Scheduler",
    "active_of",
    "count_states",
    "schedule_routes",
    "until_next",
]
