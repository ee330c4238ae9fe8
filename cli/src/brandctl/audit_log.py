"""`brandctl audit-log`: the changes made over the APIs, with who made them."""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from brandctl.commands import KeyFile, Result, connect
from brandctl.listing import Listing
from brandctl.options import OfBrand
from client.pages import read_up_to
from client.services import ServiceName

_SHOWN: Final = 60
"""Characters of a value in the table; `--json` has the whole value."""


def _changed(entry: dict[str, Any]) -> str:
    """`tone: "dry" -> "warm"` for each changed field; `made` or `removed` if a side is missing."""
    if entry["before"] is None or entry["after"] is None:
        return "removed" if entry["after"] is None and entry["before"] is not None else "made"
    before, after = dict(_leaves(entry["before"])), dict(_leaves(entry["after"]))
    names = sorted({*before, *after} - {"updated_at"})
    return ", ".join(f"{name}: {_value(before, name)} -> {_value(after, name)}" for name in names)


def _leaves(fields: dict[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _value(fields: dict[str, Any], name: str) -> str:
    if name not in fields:
        return "none"
    text = json.dumps(fields[name], ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_ENTRIES: Final = Listing(
    {
        "time": lambda entry: datetime.fromisoformat(entry["at"]).isoformat(sep=" ", timespec="seconds"),
        "caller": lambda entry: f"{entry['caller']} ({entry['key_id']})",
        "from": "address",
        "what": lambda entry: f"{entry['operation'].partition(' ')[0]} {entry['path']}",
        "changed": _changed,
    },
    nothing="no change over the API is recorded",
)


def audit_log(
    of: ServiceName = "orchestrator",
    brand: OfBrand = None,
    caller: str | None = None,
    operation: str | None = None,
    after: Annotated[int | None, typer.Option(min=1)] = None,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    url: str | None = None,
    key_file: KeyFile = None,
) -> Result:
    """Lists the changes made over the API of a service, latest first: who, when, from where, before and after.

    Needs the service key, or a key of the orchestrator with the scope operate. For example:

        brandctl audit-log --brand acme
        brandctl audit-log --caller newsroom --json
        brandctl audit-log --of gateway --operation "PUT /v1/providers/{name}"

    Options:
        of: The service that was changed.
        caller: Name of the API key, or `service` for the service key.
        operation: Method and path of the route, such as “PUT /v1/brands/{slug}”.
        after: Id of the last entry of the previous page.
        limit: The most entries to list.
        url: Address of the service; else ORCHESTRATOR_URL and so on.
    """
    kind = getattr(import_module(f"client.services.{of}"), of.title())
    query: dict[str, Any] = {"brand": brand, "caller": caller, "operation": operation, "after": after}
    with connect(kind, url or os.environ.get(f"{of.upper()}_URL"), key_file, option="--url") as service:
        return _ENTRIES.of(read_up_to(limit, service.list_audit_log, **query))
