"""API keys of the installation, for owners."""
