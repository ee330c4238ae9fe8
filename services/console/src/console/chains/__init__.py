"""Chains: all messages with one correlation id, of all services, for operators."""
