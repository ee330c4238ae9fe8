"""Base class of request bodies."""

from typing import Final

from pydantic import BaseModel, ConfigDict

WITHOUT_NUL: Final = r"^[^\x00]*$"
"""Pattern of text without NUL, which PostgreSQL cannot store."""


class RequestBody(BaseModel):
    """A request body that refuses unknown fields, so that misspelt fields are noticed."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")
