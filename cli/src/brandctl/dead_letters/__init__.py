"""What operators do about dead letters: look at them, replay them, discard them."""
