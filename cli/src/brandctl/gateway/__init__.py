"""Commands about the gateway: accounts, providers and spending."""
