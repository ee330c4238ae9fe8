"""docs/reference/http.md: every operation of every API, from the OpenAPI documents of the services."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from envelope.brand import DEPLOYED, SERVICES
from reference_pages.refusal_codes import Codes
from reference_pages.tables import table

Documents = Mapping[str, Mapping[str, Any]]
"""The OpenAPI document of each service."""

_INTRODUCTION: Final = """\
# HTTP APIs, operation by operation

Every operation of every service: its path, the scope that a key needs, and the codes of its refusals. `make schemas` makes
this page from the OpenAPI documents and the code. A running service shows its parameters, bodies and answers at `/docs`, and
the same as JSON at `/openapi.json`. [Ports](settings.md#ports) of the services.

Operators send the service key as `X-Service-Key`; it has every scope. Other callers send an API key of `brandctl keys create` as
`Authorization: Bearer …`.

Each refusal has a `code`; [its own page](../problem-codes.md) explains each. The tables leave out:

- what any operation may refuse with: 401 (no valid key), 403 (the key lacks the scope), 422 (the request cannot be
  understood), 429 (too many requests), 503 (the database is away);
- what any operation with a body may refuse with: 415 (another media type) and 413 (more than 64 kB; a larger bound is listed);
- `unknown_brand` (404) of a path with `{slug}`;
- `request_under_way` (409) of an operation that takes an `Idempotency-Key`;
- `brand_moves`, `brand_moved` and `brand_has_left` (409) of an operation that changes a brand.

The codes are those that the functions of an operation mention; the other page has their statuses. Where there is a status alone, as
with 402, 409 and 424 of a call to the outside, the other page lists its codes for the service.
"""
_USUAL: Final = frozenset({"401", "403", "415", "422", "429", "503"})
_USUAL_CODES: Final = frozenset(
    {"unknown_brand", "request_under_way", "brand_moves", "brand_moved", "brand_has_left"}
)
_OF_CALLS: Final = frozenset({"402", "409", "424"})
"""Statuses of the gateway whose codes, which have a dot, depend on what happens outside."""
_USUAL_SIZE: Final = "64 kB"
_HEAD: Final = ("operation", "does", "scope", "refusals")
_SIZE: Final = re.compile(r"larger than ([\d.]+ [kM]B)\.")


@dataclass(frozen=True)
class Operation:
    """An operation of an API, as a row shows it."""

    verb: str
    path: str
    summary: str
    scope: str
    refusals: str

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return f"`{self.verb} {self.path}`", self.summary, self.scope, self.refusals


Tagged = dict[str, list[Operation]]
"""The operations of a service by tag."""


def http_page(documents: Documents, codes: Mapping[str, Codes]) -> str:
    """Returns the page."""
    services = {service: operations_of(documents[service], codes[service]) for service in DEPLOYED}
    everywhere = [_flat(services[service]) for service in SERVICES]
    shared = set.intersection(*(set(each) for each in everywhere))
    ordered = [(tag, each) for tag, each in everywhere[0] if (tag, each) in shared]
    names = f"{', '.join(SERVICES[:-1])} and {SERVICES[-1]}"
    parts = [
        _INTRODUCTION,
        f"## Every service with queues\n\nThese services have the same operations: {names}.\n",
        *_tables(_by_tag(ordered)),
    ]
    for service, tagged in services.items():
        own = [each for each in _flat(tagged) if each not in shared]
        parts += [f"## {service}\n", *_tables(_by_tag(own))]
    return "\n".join(parts)


def operations_of(document: Mapping[str, Any], codes: Codes) -> Tagged:
    """Returns the operations of an API by their tags."""
    found: Tagged = defaultdict(list)
    listed = _listed_codes(document)
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            known = codes[verb, path]
            possible = {
                status: known.get(status) or listed.get(status, ()) for status in operation["responses"]
            }
            found[operation.get("tags", ["other"])[0].lower()].append(
                Operation(
                    verb.upper(),
                    path,
                    operation["summary"].rstrip("."),
                    scope_of(operation),
                    refusals_of(path, operation, possible),
                )
            )
    return found


def _listed_codes(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Returns the code of each status for which the whole API has one."""
    listed: defaultdict[str, list[str]] = defaultdict(list)
    for code, told in document["info"]["x-problem-codes"].items():
        listed[str(told["status"])].append(code)
    return {status: tuple(codes) for status, codes in listed.items() if len(codes) == 1}


def scope_of(operation: Mapping[str, Any]) -> str:
    """Returns the scope that an API key needs, or that only the service key, or no key, opens the operation."""
    if {} in operation.get("security", ()):
        return "no key"
    needed = {scope for each in operation.get("security", ()) for keys in each.values() for scope in keys}
    kinds = {kind for each in operation.get("security", ()) for kind in each}
    scopes = ", ".join(f"`{scope}`" for scope in sorted(needed)) or "any"
    return scopes if "ApiKey" in kinds else "service key"


def refusals_of(path: str, operation: Mapping[str, Any], codes: Mapping[str, Sequence[str]]) -> str:
    """Returns the refusals beyond those that any operation may have: codes, or statuses without any."""
    shown = []
    for status, answer in sorted(operation["responses"].items()):
        if status < "400" or status in _USUAL:
            continue
        if status == "413":
            size = larger_body(operation)
            shown += [f"413 over {size}"] if size else []
            continue
        known = {*codes.get(status, ()), *({"unknown_brand"} if status == "404" and "{slug}" in path else ())}
        told = ", ".join(
            f"`{each}`" for each in sorted(known - _USUAL_CODES) if not (status in _OF_CALLS and "." in each)
        )
        if told or not (known & _USUAL_CODES or "Idempotency-Key" in answer["description"]):
            shown.append(told or status)
    return ", ".join(shown) or "none"


def larger_body(operation: Mapping[str, Any]) -> str:
    """Returns the most that the body of an operation may have, if that is more than usual; else an empty text."""
    size = _SIZE.search(operation["responses"].get("413", {}).get("description", ""))
    return "" if size is None or size[1] == _USUAL_SIZE else size[1]


def _flat(tagged: Tagged) -> list[tuple[str, Operation]]:
    return [(tag, each) for tag, operations in tagged.items() for each in operations]


def _by_tag(flat: list[tuple[str, Operation]]) -> Tagged:
    found: Tagged = defaultdict(list)
    for tag, each in flat:
        found[tag].append(each)
    return found


def _tables(tagged: Tagged) -> Iterator[str]:
    for tag, operations in tagged.items():
        yield f"### {tag.replace('-', ' ')}\n\n{table(_HEAD, (each.cells for each in operations))}"
