"""Parts of OpenAPI responses that several routes share."""

from typing import Final

LOCATION: Final = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}
