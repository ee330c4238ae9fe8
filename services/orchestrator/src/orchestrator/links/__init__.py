"""Whether the brands' pages and the sources that their articles refer to still answer: looked at weekly, politely, and kept."""

from orchestrator.links.asking import LinkProbe
from orchestrator.links.checking import LinkChecker
from orchestrator.links.domain import LinkKind
from orchestrator.links.store import BrokenLink, broken_links, trouble_with

__all__ = ["BrokenLink", "LinkChecker", "LinkKind", "LinkProbe", "broken_links", "trouble_with"]
