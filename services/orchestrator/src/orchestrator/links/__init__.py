"""Whether the brands' pages and the sources that their articles refer to still answer: looked at weekly, politely, and kept."""

from orchestrator.links.asking import Asking
from orchestrator.links.checking import Checking
from orchestrator.links.domain import Kind
from orchestrator.links.store import BrokenLink, broken_links, trouble_with

__all__ = ["Asking", "BrokenLink", "Checking", "Kind", "broken_links", "trouble_with"]
