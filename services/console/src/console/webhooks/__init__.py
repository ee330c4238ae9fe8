"""Pages of a brand's webhooks."""
