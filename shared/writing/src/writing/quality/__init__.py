"""Measures articles: figures with bounds, and likeness to other texts."""
