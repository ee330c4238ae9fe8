"""The simulated broker and both ends of the connections to it."""
