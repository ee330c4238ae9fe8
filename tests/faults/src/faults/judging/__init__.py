"""What was told, what was seen, what is wrong about it, and the report."""
