"""A brand's schedules in words: when each hands in keywords next, what became of the last times, and a plain form."""
