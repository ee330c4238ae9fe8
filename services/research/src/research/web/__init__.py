"""The web as a source: searches and pages through the gateway, the selection of pages, and their robots directives."""
