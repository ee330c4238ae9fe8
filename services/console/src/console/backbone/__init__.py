"""Queues, outboxes and state of the services that handle messages, for operators."""
