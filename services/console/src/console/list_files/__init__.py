"""Filtered lists as files, in CSV or JSON."""
