"""Reads again and again what open tabs show, once for all people who see the same, and tells them of changes."""
