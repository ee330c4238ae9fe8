"""Results as rows, goals, tables and pictures."""
