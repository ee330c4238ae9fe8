"""Events as they come, over server-sent events."""
