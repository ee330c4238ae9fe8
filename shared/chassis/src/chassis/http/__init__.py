"""Serving HTTP and asking others by it: server, service key, guard, public pages, clients, spans."""
