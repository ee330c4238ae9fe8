"""Runs the shop for a demonstration and for its tests: servers, processes, and somebody who takes the mail."""
