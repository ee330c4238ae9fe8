"""What is broken around the real services, one of them or all."""
