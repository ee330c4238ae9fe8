"""The JSON Schema of the chart's values: a misspelt or senseless value is refused before anything is rendered."""

from collections.abc import Mapping
from typing import Any, Final

from envelope.brand import DEPLOYED
from manifests.chart.choices import OPTIONS

Schema = dict[str, Any]

_BOOLEAN: Final[Schema] = {"type": "boolean"}
_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
_POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
_PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}
_QUANTITY: Final[Schema] = {
    "type": ["string", "number"],
    "pattern": r"^[0-9]+(\.[0-9]+)?(m|Ki|Mi|Gi|Ti|k|M|G|T)?$",
}
_DIGEST: Final[Schema] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_HOST: Final[Schema] = {
    "type": "string",
    "pattern": r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
}
_NAME_OR_NOTHING: Final[Schema] = {"type": "string", "pattern": r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"}
_ADDRESSES: Final[Schema] = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "pattern": r"^[0-9a-f.:]+/[0-9]{1,3}$", "not": {"pattern": "/0$"}},
}


def schema() -> Schema:
    """Of `values.yaml`; everything that is not named here is refused."""
    return {
        "$schema": "https://json-schema.org/draft-07/schema#",
        "title": "Values of the chart brand-engine",
    } | _fields(
        {
            "size": _TEXT,
            "images": _fields(
                {
                    "repository": {"type": "string", "pattern": r"^([a-zA-Z0-9._:/-]+/)?brand-engine$"},
                    "tag": {"type": "string", "pattern": r"^[A-Za-z0-9._-]{0,128}$"},
                    "digests": _fields(dict.fromkeys(DEPLOYED, _DIGEST), ()),
                    "pullSecret": _NAME_OR_NOTHING,
                }
            ),
            "broker": _fields(
                {
                    "kind": _one_of("broker"),
                    "host": _HOST,
                    "port": _PORT,
                    "apiPort": _PORT,
                    "addresses": _ADDRESSES,
                }
            ),
            "database": _fields(
                {
                    "kind": _one_of("database"),
                    "host": _HOST,
                    "port": _PORT,
                    "addresses": _ADDRESSES,
                    "backups": _fields(
                        {
                            "enabled": _BOOLEAN,
                            "destination": {"type": "string", "pattern": "^(s3|https?|gs)://"},
                            "endpoint": {"type": "string", "pattern": "^https?://"},
                            "addresses": _ADDRESSES,
                        }
                    ),
                }
            ),
            "network": _fields({"apiServer": _ADDRESSES}),
            "autoscaling": _fields({"enabled": _BOOLEAN}),
            "ingress": _fields(
                {
                    "className": _TEXT,
                    "issuer": _NAME_OR_NOTHING,
                    "sites": _fields({"enabled": _BOOLEAN, "host": _HOST, "feedsHost": _HOST}),
                    "console": _fields({"enabled": _BOOLEAN, "host": _HOST}),
                    "api": _fields({"enabled": _BOOLEAN, "host": _HOST}),
                }
            ),
            "monitoring": _fields({"enabled": _BOOLEAN, "release": _TEXT}),
            "tracing": _fields({"enabled": _BOOLEAN}),
            "documents": _fields({"kind": _one_of("documents")}),
            "publishFolder": _fields({"enabled": _BOOLEAN}),
            "migrations": _fields({"beforeUpgrade": _BOOLEAN}),
            "settings": {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Z][A-Z0-9_]*$"},
                "additionalProperties": {"type": "string"},
            },
            "sizes": {"type": "object", "minProperties": 1, "additionalProperties": _size()},
            # Helm hands this over to every chart.
            "global": {"type": "object"},
        },
        optional=("global",),
    )


def _size() -> Schema:
    service = _fields({"minReplicas": _POSITIVE, "maxReplicas": _POSITIVE, "resources": _resources()})
    return _fields(
        {
            "connectionsPerReplica": _POSITIVE,
            "services": _fields(dict.fromkeys(DEPLOYED, service)),
            "database": _fields(
                {
                    "connections": _POSITIVE,
                    "sharedBuffers": {"type": "string", "pattern": "^[0-9]+(kB|MB|GB|TB)$"},
                    "storage": _QUANTITY,
                    "logStorage": _QUANTITY,
                    "resources": _resources(),
                }
            ),
            "broker": _fields({"storage": _QUANTITY, "resources": _resources()}),
        }
    )


def _resources() -> Schema:
    amounts = _fields({"cpu": _QUANTITY, "memory": _QUANTITY})
    return _fields({"requests": amounts, "limits": amounts})


def _one_of(choice: str) -> Schema:
    return {"enum": list(OPTIONS[choice].options)}


def _fields(
    fields: Mapping[str, Schema], required: tuple[str, ...] | None = None, *, optional: tuple[str, ...] = ()
) -> Schema:
    """An object with these fields and no others; all of them must be there, unless it says which."""
    needed = [name for name in fields if name not in optional] if required is None else list(required)
    described: Schema = {"type": "object", "additionalProperties": False, "properties": dict(fields)}
    return described | ({"required": needed} if needed else {})
