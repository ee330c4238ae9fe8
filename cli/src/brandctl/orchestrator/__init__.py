"""Commands that call the orchestrator."""
