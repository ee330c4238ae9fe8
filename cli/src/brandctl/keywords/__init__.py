"""Commands about the keywords of all cycles, from the services' databases, without traces."""
