"""Lists as files: what a list shows with its filters, as CSV or JSON."""
