"""Search engines and models: what is connected, connecting, trying and removing them."""
