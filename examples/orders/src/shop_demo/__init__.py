"""Runs the shop for its demonstration and its tests: servers, processes, and a mail server."""
