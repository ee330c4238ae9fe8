"""File layouts of site generators, folders, and commits."""
