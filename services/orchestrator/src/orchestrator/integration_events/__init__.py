"""Integration events: messages for other systems that bind a queue to the exchange."""

from orchestrator.integration_events.ended_cycles import ENDED_AS, announce_ended_cycles
from orchestrator.integration_events.ignored import ignore_events
from orchestrator.integration_events.poller import EventPoller
from orchestrator.integration_events.waiting_drafts import POSTS_WAIT

__all__ = ["ENDED_AS", "POSTS_WAIT", "EventPoller", "announce_ended_cycles", "ignore_events"]
