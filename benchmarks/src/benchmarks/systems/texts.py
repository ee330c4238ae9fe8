"""Compares the texts of articles that were written in two ways."""

import hashlib

from writing.body import prose_of


def digest(title: str, markdown: str) -> str:
    """Of what readers see, without links: an article links to those of its brand that are published by then."""
    return hashlib.sha256(f"{title}\n{prose_of(markdown)}".encode()).hexdigest()[:16]
