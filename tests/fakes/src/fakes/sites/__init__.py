"""Sites that take articles."""
