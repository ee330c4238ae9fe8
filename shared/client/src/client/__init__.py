"""Calls the services' HTTP APIs; see the README. Methods and models are in `client.services.<service>`."""

from typing import TYPE_CHECKING, Any

from client.brand_engine import BrandEngine, Job
from client.connections import Address, etag_of
from client.cycle_results import JobResults, NotEndedError, SubmittedKeyword
from client.errors import (
    AddressError,
    ClientError,
    RefusedError,
    StrangeAnswerError,
    UnchangedError,
    UnreachableError,
)
from client.pages import items_of, pages_of, read_if_known, read_up_to

if TYPE_CHECKING:
    from client.async_brand_engine import AsyncBrandEngine, AsyncJob

__all__ = [
    "Address",
    "AddressError",
    "AsyncBrandEngine",
    "AsyncJob",
    "BrandEngine",
    "ClientError",
    "Job",
    "JobResults",
    "NotEndedError",
    "RefusedError",
    "StrangeAnswerError",
    "SubmittedKeyword",
    "UnchangedError",
    "UnreachableError",
    "etag_of",
    "items_of",
    "pages_of",
    "read_if_known",
    "read_up_to",
]


def __getattr__(name: str) -> Any:
    # A command line has no use for asyncio, which takes longer to load than all else here.
    if name in {"AsyncBrandEngine", "AsyncJob"}:
        from client import async_brand_engine  # noqa: PLC0415

        return getattr(async_brand_engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
