"""Rows, the goals they are held against, tables and pictures."""
