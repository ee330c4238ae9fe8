"""The log of events: stored in one order, read by place, forgotten by day."""
