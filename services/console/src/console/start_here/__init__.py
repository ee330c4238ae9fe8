"""From an empty system to a first article."""
