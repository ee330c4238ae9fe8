"""Spans and counts of messages."""
