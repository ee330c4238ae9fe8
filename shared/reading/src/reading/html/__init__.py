"""Reads HTML pages: their tree of sections, tables of contents and indexes."""
