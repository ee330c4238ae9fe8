"""Dead letters: what the services could not handle, grouped by failure, to be replayed, discarded or restored."""
