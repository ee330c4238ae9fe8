"""Assistants that use the console's address: the tools by the Model Context Protocol, and the page that says how to connect."""
