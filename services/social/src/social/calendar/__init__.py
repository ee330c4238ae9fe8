"""The calendar of posts: slots of accounts, queues, repetitions, and moves by people."""

from fastapi import APIRouter

from messaging import Database
from social.calendar.models import RepeatsRequest, SlotsRequest
from social.calendar.repeat_planner import RepeatPlanner
from social.calendar.repeat_routes import repeat_routes
from social.calendar.routes import entry_routes, export_routes
from social.calendar.slot_routes import slot_routes
from social.calendar.slot_scheduler import SlotScheduler
from social.sending import DuePosts

__all__ = ["RepeatPlanner", "RepeatsRequest", "SlotScheduler", "SlotsRequest", "routes"]


def routes(database: Database, due: DuePosts) -> tuple[APIRouter, ...]:
    """All HTTP routes of the calendar."""
    return (
        entry_routes(database, due),
        export_routes(database),
        slot_routes(database),
        repeat_routes(database),
    )
