"""Having callers wait: those who send wrong keys, and those whose quota is used up."""
