"""What the answers to requests have in common, beyond what those of any API have."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from chassis.http.api import Responses, too_large

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""1,000 keywords of 200 characters, each written as two JSON escapes, come to 2.4 MB."""
TOO_LARGE: Final[Responses] = too_large(MAX_BODY_BYTES)
LOCATION: Final = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}


class View(BaseModel):
    """What a request is answered with."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)
