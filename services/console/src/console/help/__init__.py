"""Pages of the documentation that forms lead to, as they are in this version."""
