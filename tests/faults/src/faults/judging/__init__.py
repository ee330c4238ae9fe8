"""History, observation, the checks of both, and the report."""
