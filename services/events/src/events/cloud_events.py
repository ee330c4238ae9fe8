"""The outer form of events for others: CloudEvents 1.0, as JSON."""

import json
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from chassis.http.api import View
from events.log.domain import LoggedEvent

_DIGITS: Final = 19
"""Of the largest position; with leading zeros, sequences sort as text, too."""


class CloudEvent(View):
    """What happened, as a CloudEvent 1.0. `docs/topology.md` says what the types mean; later versions may add fields to `data`."""

    specversion: Literal["1.0"] = "1.0"
    id: UUID
    """The same for every delivery of the event."""
    source: Annotated[str, Field(examples=["publisher"])]
    """The service that reported it."""
    type: Annotated[str, Field(examples=["content.published"])]
    time: datetime
    """When it happened, UTC."""
    datacontenttype: Literal["application/json"] = "application/json"
    brand: str | None = None
    """Slug of the brand that it concerns; absent if it concerns no single one."""
    correlationid: str | None = None
    """The same for everything that one request caused."""
    causationid: UUID | None = None
    """Id of the message that caused it."""
    sequence: Annotated[str, Field(examples=["0000000000000000042"])]
    """Its place in the order of all events; higher for those that were stored later."""
    data: dict[str, Any]

    @model_serializer(mode="wrap")
    def _without_nulls(self, serialise: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        """An attribute without a value is absent, as the specification of CloudEvents prefers it."""
        # A return type would replace the fields in the OpenAPI document.
        return {name: value for name, value in serialise(self).items() if value is not None}

    @classmethod
    def of(cls, event: LoggedEvent) -> Self:
        return cls.model_validate(attributes(event))


def attributes(event: LoggedEvent) -> dict[str, Any]:
    """The members of the CloudEvent; those without a value are left out."""
    told = {
        "specversion": "1.0",
        "id": str(event.event_id),
        "source": event.source,
        "type": event.type,
        "time": event.happened_at.isoformat(),
        "datacontenttype": "application/json",
        "brand": event.brand,
        "correlationid": event.correlation_id,
        "causationid": None if event.causation_id is None else str(event.causation_id),
        "sequence": f"{event.position:0{_DIGITS}}",
        "data": json.loads(event.payload),
    }
    return {name: value for name, value in told.items() if value is not None}


def as_json(event: LoggedEvent) -> str:
    """The CloudEvent on one line."""
    return json.dumps(attributes(event), ensure_ascii=False, separators=(",", ":"))
