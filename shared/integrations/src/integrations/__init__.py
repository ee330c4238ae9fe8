"""Facts about outside networks, sites and providers, as data. See the README."""
