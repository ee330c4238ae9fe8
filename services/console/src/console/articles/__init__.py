"""Articles of a brand: where each is published, its measures, and how to take it down."""
