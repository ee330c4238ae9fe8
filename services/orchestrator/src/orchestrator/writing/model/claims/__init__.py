"""Whether the passages that a sentence cites say what it says: decided by code, word by word."""

from orchestrator.writing.model.claims.checking import TOO_MUCH, ClaimVerdict, Evidence, check
from orchestrator.writing.model.claims.conceivable import problems

__all__ = ["TOO_MUCH", "ClaimVerdict", "Evidence", "check", "problems"]
