"""What the answers to requests have in common, beyond what those of any API have."""

from typing import Final

LOCATION: Final = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}
