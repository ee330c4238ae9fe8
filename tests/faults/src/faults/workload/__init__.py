"""The client: commands, and how they get to the broker."""
