"""The eyes of the system: finds, reads and cites sources for a keyword, and refuses when there are too few."""
