"""Checks, word by word and without a model, whether the cited passages say what a sentence says."""

from writing.model.claims.checking import TOO_MUCH, ClaimVerdict, Evidence, check
from writing.model.claims.paraphrases import problems

__all__ = ["TOO_MUCH", "ClaimVerdict", "Evidence", "check", "problems"]
