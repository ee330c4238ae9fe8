"""A brand's accounts at networks and sites, its channels, and the targets of its articles."""
