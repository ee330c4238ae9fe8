"""Sentences with known verdicts, to examine judges and rules with: true ones in an editor's words, and lies of 25 kinds."""
