"""What is known of outside networks, sites and providers, as data. See the README."""
