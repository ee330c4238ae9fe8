"""Request bodies: limits on waiting for them and on their number of values."""
