"""The pages about the import of a brand."""
