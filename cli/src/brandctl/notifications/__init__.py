"""Who is told of what wants somebody's eye, what that is, and what was sent."""
