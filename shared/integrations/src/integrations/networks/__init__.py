"""Social networks: where posts go."""
