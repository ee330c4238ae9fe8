"""Serving HTTP and asking others by it: server, service key, guard, throttling, public pages, clients, spans."""
