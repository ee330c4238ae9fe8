"""Commands about posts, which call social."""
