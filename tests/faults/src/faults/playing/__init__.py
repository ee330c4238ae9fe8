"""Plays scenarios: the harness, its waits, and the frame that drains and judges."""
