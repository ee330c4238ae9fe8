"""The settings of a brand, and its pause and end."""
