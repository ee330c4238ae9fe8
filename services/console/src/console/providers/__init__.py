"""Search engines and models: listing, connecting, trying and removing them."""
