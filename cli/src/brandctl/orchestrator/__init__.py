"""What the orchestrator is asked and told."""
