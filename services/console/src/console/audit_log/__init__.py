"""Who has changed what, over all services."""
