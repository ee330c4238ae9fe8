"""Messages that nobody should send, put in by hand through the broker's door."""
