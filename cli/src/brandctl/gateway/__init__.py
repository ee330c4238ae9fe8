"""What goes out through the gateway: what it costs, and with which accounts."""
