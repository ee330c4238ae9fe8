"""Having callers wait: those who send wrong keys."""
