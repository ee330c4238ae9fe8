"""Which fields of the messages are shown masked."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from envelope.catalogue import Catalogue


def masked_fields(catalogue: Catalogue) -> frozenset[str]:
    """Names of the fields that the models of the catalogue mark as `envelope.message.MASKED`."""
    seen = set[type[BaseModel]]()
    return frozenset(name for entry in catalogue.values() for name in _marked(entry.payload, seen))


def _marked(kind: Any, seen: set[type[BaseModel]]) -> Iterator[str]:
    """Names of marked fields of the models in a type, such as `tuple[Model, ...] | None`."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind in seen:
            return
        seen.add(kind)
        for name, field in kind.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra.get("x-masked"):
                yield name
            yield from _marked(field.annotation, seen)
    for each in get_args(kind):
        yield from _marked(each, seen)
