"""Subscriptions: readers that pull events, and say which they have handled."""
