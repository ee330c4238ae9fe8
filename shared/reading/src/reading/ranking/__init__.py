"""Ranks documents for a keyword and decides if they suffice for an article. Pure: no I/O, no clock, no randomness."""
