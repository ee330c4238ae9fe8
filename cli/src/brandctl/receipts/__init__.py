"""`brandctl receipts`: effects on other people's servers."""

from brandctl.receipts.commands import app

__all__ = ["app"]
