"""Commands about keywords over all cycles, with what the services' databases know of each: no trace is needed."""
