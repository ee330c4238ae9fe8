"""What is said to research: where it looks for a brand, and which documents it reads."""

from brandctl.research.documents import app as documents_app
from brandctl.research.sources import app as sources_app

__all__ = ["documents_app", "sources_app"]
