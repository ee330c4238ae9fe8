"""Searching the web, in one shape whoever is asked."""

from gateway.search.searching import Searching

__all__ = ["Searching"]
