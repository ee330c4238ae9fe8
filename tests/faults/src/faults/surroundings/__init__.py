"""What the work stands on and what can be taken from it: nodes, servers on them, processes."""
