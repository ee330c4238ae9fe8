"""The pages of docs/reference that are made from settings, OpenAPI documents and constants of the services.

`PYTHONPATH=deploy/reference python -m reference_pages docs/reference` writes them; a test compares them with what it would write.
"""
