"""What operators do about dead letters: look at them, replay them, discard them."""

from brandctl.dead_letters.commands import app

__all__ = ["app"]
