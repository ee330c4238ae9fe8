"""What the answers to requests have in common, beyond what those of any API have."""

from typing import Final

from pydantic import BaseModel, ConfigDict

LOCATION: Final = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}


class View(BaseModel):
    """What a request is answered with."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)
