"""Users at the broker for other systems."""
