"""Many installations beside each other, calculated: how full they get, what a lost one moves, what a month costs."""
