"""Checks weekly whether the brands' pages, and the sources of their articles, still answer."""

from orchestrator.links.asking import LinkProbe
from orchestrator.links.checking import LinkChecker
from orchestrator.links.domain import LinkKind
from orchestrator.links.store import BrokenLink, broken_links, trouble_with

__all__ = ["BrokenLink", "LinkChecker", "LinkKind", "LinkProbe", "broken_links", "trouble_with"]
