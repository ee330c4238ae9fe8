"""How a scenario is played: the world it is in, what it waits for, and the frame that drains and judges."""
