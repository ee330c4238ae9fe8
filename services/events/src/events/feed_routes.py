"""`GET /v1/events`, page by page, and `GET /v1/events/live`, as they come."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from chassis.http.api import MayRead, Moment, View, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from envelope.brand.payloads import BrandSlug
from events import problem_codes as codes
from events.cloud_events import CloudEvent
from events.live.follower import EventFollower, NoRoomError
from events.log import store
from events.log.domain import visible_filter
from events.places import STORABLE, After, Types, check_place, read_types
from messaging import Database

_HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
_LAST: Final = 2**63 - 1
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "description": "The place; empty before the first event."},
        "event": {"type": "string", "description": "The type of the event."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "description": "A CloudEvent 1.0.",
        },
    },
}
ChainId = Annotated[
    str | None,
    Query(
        description="Only events of this chain: `correlation_id` of a request.",
        min_length=1,
        max_length=200,
        pattern=STORABLE,
    ),
]
OfBrand = Annotated[BrandSlug | None, Query(description="Only events of this brand.")]


class EventPage(View):
    """Events in their order. A page may be empty although others follow: `next` says so."""

    items: list[CloudEvent]
    next: int | None = Field(description="Send it as `after` to read on now; null if there are no more yet.")
    last: int = Field(description="Send it as `after` to read on later.")


def feed_routes(database: Database, follower: EventFollower) -> APIRouter:
    routes = router("/events", tags=["events"])

    @routes.get("", summary="What happened, in order", response_model_exclude_none=False)
    async def list_events(
        caller: MayRead,
        after: After = None,
        since: Annotated[
            Moment | None,
            Query(description="Begin with what was stored at this time or later; instead of `after`."),
        ] = None,
        types: Types = None,
        brand: OfBrand = None,
        correlation_id: ChainId = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> EventPage:
        """Returns the events of the last days (30, unless configured otherwise), the oldest first.

        All readers see the same order, and an event never comes between two that were returned. Read on with `after`.
        """
        if after is not None and since is not None:
            raise RefusalError(INVALID_REQUEST, "since: give either `after` or `since`, not both")
        wanted = visible_filter(
            caller.visible_brands(), brand=brand, types=read_types(types), correlation_id=correlation_id
        )
        async with database.connection() as connection:
            head = await store.read_head(connection)
            if after is not None:
                check_place(after, head)
                position = after
            elif since is not None:
                position = await store.position_at(connection, since)
            else:
                position = head.forgotten
            page = await store.read(connection, wanted, after=position, limit=limit)
        return EventPage(
            items=[CloudEvent.of(event) for event in page.events],
            next=page.position if page.is_more else None,
            last=page.position,
        )

    @routes.get(
        "/live",
        summary="What happens, as it happens",
        response_class=StreamingResponse,
        responses={
            200: {
                "content": {"text/event-stream": {"schema": _EVENT}},
                "description": "Server-sent events, each as the schema says.",
            }
        },
    )
    async def stream_events(
        caller: MayRead,
        types: Types = None,
        brand: OfBrand = None,
        correlation_id: ChainId = None,
        after: After = None,
        last_event_id: Annotated[
            str | None,
            Header(
                description="Id of the last event that came; browsers send it when they connect again.",
                max_length=30,
            ),
        ] = None,
    ) -> StreamingResponse:
        """Streams events as server-sent events: the id is the place, the event is the type, the data is a CloudEvent.

        It begins after `Last-Event-ID` or `after`, or without both with what comes from now on. After ten minutes it ends; connect
        again with the last id, as browsers do by themselves.
        """
        place = _place(last_event_id) if last_event_id else after
        wanted = visible_filter(
            caller.visible_brands(), brand=brand, types=read_types(types), correlation_id=correlation_id
        )
        if place is not None:
            async with database.connection() as connection:
                check_place(place, await store.read_head(connection))
        try:
            stream = await follower.prepare(wanted, place)
        except NoRoomError:
            raise RefusalError(
                codes.TOO_MANY_STREAMS,
                "as many live streams are open as this process takes; try again later, or read page by page",
                headers={"Retry-After": "30"},
            ) from None
        return StreamingResponse(
            follower.texts(stream), media_type="text/event-stream; charset=utf-8", headers=_HEADERS
        )

    return routes


def _place(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= _LAST:
        return int(text)
    raise RefusalError(INVALID_REQUEST, "Last-Event-ID: send the id of an event of this stream, a number")
