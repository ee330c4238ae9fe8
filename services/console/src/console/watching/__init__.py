"""Reads again and again what open tabs show, once for all tabs of a person, and tells them of changes."""
