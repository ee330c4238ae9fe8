"""Measures drains of queues, and checks their effects."""
