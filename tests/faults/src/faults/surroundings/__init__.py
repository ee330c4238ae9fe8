"""Servers and processes that scenarios can break."""
