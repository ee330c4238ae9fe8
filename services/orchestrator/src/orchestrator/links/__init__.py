"""Checks weekly whether the brands' pages, and the sources of their articles, still answer."""

from orchestrator.links.checker import LinkChecker
from orchestrator.links.domain import LinkKind
from orchestrator.links.probe import LinkProbe
from orchestrator.links.store import BrokenLink, broken_links, describe_trouble

__all__ = ["BrokenLink", "LinkChecker", "LinkKind", "LinkProbe", "broken_links", "describe_trouble"]
