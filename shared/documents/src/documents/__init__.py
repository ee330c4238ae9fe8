"""The structure of a document: sections with their blocks."""
