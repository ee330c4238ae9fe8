"""Calls the services' HTTP APIs; see the README. Methods and models are in `client.services.<service>`."""

from client.connections import Address, etag_of
from client.errors import (
    AddressError,
    ClientError,
    RefusedError,
    StrangeAnswerError,
    UnchangedError,
    UnreachableError,
)
from client.pages import items_of, pages_of, read_if_known, read_up_to

__all__ = [
    "Address",
    "AddressError",
    "ClientError",
    "RefusedError",
    "StrangeAnswerError",
    "UnchangedError",
    "UnreachableError",
    "etag_of",
    "items_of",
    "pages_of",
    "read_if_known",
    "read_up_to",
]
