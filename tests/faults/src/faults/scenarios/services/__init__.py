"""Scenarios with the real services, one or all of them."""
