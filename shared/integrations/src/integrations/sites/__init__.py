"""Publishing targets: where articles go."""
