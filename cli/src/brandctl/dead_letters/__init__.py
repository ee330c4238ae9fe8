"""Commands about dead letters: list, show, replay, discard."""
