"""docs/reference/http.md: every operation of every API, from the OpenAPI documents of the services."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from envelope.brand import DEPLOYED, SERVICES
from reference_pages.tables import table

Documents = Mapping[str, Mapping[str, Any]]
"""The OpenAPI document of each service."""

_INTRODUCTION: Final = """\
# HTTP APIs, operation by operation

Every operation of every service: its path, the scope that a key needs, and the statuses of its refusals. `make schemas` makes
this page from the OpenAPI documents. A running service shows its parameters, bodies and answers at `/docs`, and the same as
JSON at `/openapi.json`.

Operators send the service key as `X-Service-Key`; it has every scope. Other callers send an API key of `brandctl keys create` as
`Authorization: Bearer …`. `/v1/sign-in` of the gateway needs no key.

Any operation may refuse with 401 (no valid key), 403 (the key lacks the scope), 422 (the request cannot be understood), 429 (too
many requests) or 503 (the database is away). Any operation with a body may refuse with 415 (another media type). The tables list
the other statuses. A body of more than 64 kB gets 413; a larger bound is in brackets. Each refusal has a `code`, which
[its own page](../problem-codes.md) explains. [Ports](settings.md#ports) of the services.
"""
_USUAL: Final = frozenset({"401", "403", "415", "422", "429", "503"})
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


def http_page(documents: Documents) -> str:
    """Returns the page."""
    services = {service: operations_of(documents[service]) for service in DEPLOYED}
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


def operations_of(document: Mapping[str, Any]) -> Tagged:
    """Returns the operations of an API by their tags."""
    found: Tagged = defaultdict(list)
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            found[operation.get("tags", ["other"])[0].lower()].append(
                Operation(
                    verb.upper(),
                    path,
                    operation["summary"].rstrip("."),
                    scope_of(operation),
                    refusals_of(operation),
                )
            )
    return found


def scope_of(operation: Mapping[str, Any]) -> str:
    """Returns the scope that an API key needs, or that only the service key opens the operation."""
    needed = {scope for each in operation.get("security", ()) for keys in each.values() for scope in keys}
    kinds = {kind for each in operation.get("security", ()) for kind in each}
    scopes = ", ".join(f"`{scope}`" for scope in sorted(needed)) or "any"
    return scopes if "ApiKey" in kinds else "service key"


def refusals_of(operation: Mapping[str, Any]) -> str:
    """Returns the statuses of refusals beyond those that any operation may have."""
    statuses = sorted(each for each in operation["responses"] if each >= "400" and each not in _USUAL)
    return (
        ", ".join(_with_size(each, operation["responses"][each]["description"]) for each in statuses)
        or "none"
    )


def _with_size(status: str, description: str) -> str:
    size = _SIZE.search(description)
    return status if size is None or size[1] == _USUAL_SIZE else f"{status} ({size[1]})"


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
