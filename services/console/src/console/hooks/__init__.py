"""Pages of a brand's incoming webhooks."""
