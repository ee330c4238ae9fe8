"""Invalid messages, published directly to the broker."""
