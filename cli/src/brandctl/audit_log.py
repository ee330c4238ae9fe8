"""`brandctl audit-log`: the changes made over the APIs, with who made them."""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from pydantic import BaseModel, ConfigDict

from brandctl.asking import AsJson, KeyFile, ServiceClient
from brandctl.listing import Listing, OfBrand

_SHOWN: Final = 60
"""Characters of a value in the table; `--json` has the whole value."""


class AuditedService(StrEnum):
    ORCHESTRATOR = "orchestrator"
    RESEARCH = "research"
    PUBLISHER = "publisher"
    SOCIAL = "social"
    MONITOR = "monitor"
    GATEWAY = "gateway"


class _AuditLogEntry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    at: datetime
    caller: str
    key_id: str
    address: str | None
    operation: str
    path: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class _AuditLogPage(BaseModel):
    items: tuple[_AuditLogEntry, ...]
    next: int | None


class _AuditLogClient(ServiceClient):
    service = "orchestrator"
    option = "--url"

    def page(self, params: dict[str, Any], *, limit: int) -> tuple[_AuditLogPage, dict[str, Any]]:
        answer = self._entries("/v1/audit-log", params, limit=limit)
        return self._read(_AuditLogPage, answer), answer


_CLIENTS: Final[dict[AuditedService, type[_AuditLogClient]]] = {
    each: type(f"_Of{each.title()}", (_AuditLogClient,), {"service": each.value}) for each in AuditedService
}


def _changed(entry: _AuditLogEntry) -> str:
    """`tone: "dry" -> "warm"` for each changed field; `made` or `removed` if a side is missing."""
    if entry.before is None or entry.after is None:
        return "removed" if entry.after is None and entry.before is not None else "made"
    before, after = dict(_leaves(entry.before)), dict(_leaves(entry.after))
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


_ENTRIES: Final = Listing[_AuditLogEntry](
    {
        "time": lambda entry: entry.at.isoformat(sep=" ", timespec="seconds"),
        "caller": lambda entry: f"{entry.caller} ({entry.key_id})",
        "from": lambda entry: entry.address or "",
        "what": lambda entry: f"{entry.operation.partition(' ')[0]} {entry.path}",
        "changed": _changed,
    },
    nothing="no change over the API is recorded",
)


def audit_log(
    of: Annotated[
        AuditedService, typer.Option(help="The service whose changes to list.")
    ] = AuditedService.ORCHESTRATOR,
    brand: OfBrand = None,
    caller: Annotated[
        str | None, typer.Option(help="Name of the API key, or `service` for the service key.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(help="Method and path of the route, such as “PUT /v1/brands/{slug}”.")
    ] = None,
    after: Annotated[
        int | None, typer.Option(min=1, help="Id of the last entry of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The most entries to list.")] = 50,
    as_json: AsJson = False,
    url: Annotated[
        str | None, typer.Option(help="Address of the service; else ORCHESTRATOR_URL and so on.")
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the changes made over the API of a service, latest first: who, when, from where, before and after.

    Needs the service key, or a key of the orchestrator with the scope operate. For example:

        brandctl audit-log --brand acme
        brandctl audit-log --caller newsroom --json
        brandctl audit-log --of gateway --operation "PUT /v1/providers/{name}"
    """
    wanted = {"brand": brand, "caller": caller, "operation": operation, "after": after}
    with _CLIENTS[of].at(url or os.environ.get(f"{of.upper()}_URL"), key_file) as client:
        found, answer = client.page(wanted, limit=limit)
    _ENTRIES.show(found.items, answer, as_json=as_json, more=found.next)
