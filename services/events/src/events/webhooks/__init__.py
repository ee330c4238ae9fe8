"""Webhooks: each event of a brand that matches is sent to a receiver, through the gateway, which signs it."""
