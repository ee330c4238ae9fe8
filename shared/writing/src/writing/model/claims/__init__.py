"""Checks, word by word and without a model, whether the cited passages say what a sentence says."""
