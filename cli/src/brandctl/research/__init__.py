"""Commands about research: its sources for a brand, and its documents."""
