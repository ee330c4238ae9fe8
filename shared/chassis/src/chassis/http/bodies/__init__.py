"""The bodies of requests: waiting for them, and counting what is in them."""
