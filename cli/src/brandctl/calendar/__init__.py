"""Commands about the calendar: posts from social, articles and schedules from the orchestrator."""
