"""What others are told and nothing of ours does anything about: events for whoever binds a queue to their exchange."""

from orchestrator.outside.announcements import EventPoller
from orchestrator.outside.ends import ENDED_AS, tell_of_ends
from orchestrator.outside.letting_go import let_go
from orchestrator.outside.reminders import POSTS_WAIT

__all__ = ["ENDED_AS", "POSTS_WAIT", "EventPoller", "let_go", "tell_of_ends"]
