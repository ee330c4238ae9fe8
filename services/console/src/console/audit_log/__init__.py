"""The audit log of all services: changes and their callers."""
