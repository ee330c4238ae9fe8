"""Incoming webhooks: what other systems send becomes a command, by a brand's definition."""
