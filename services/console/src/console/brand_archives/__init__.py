"""Uploaded archives of brands, in the database of the console, and the imports that run."""
