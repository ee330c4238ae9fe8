"""The corpus index: documents and passages in the service's own database."""
