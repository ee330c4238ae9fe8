"""The HTTP application: the API under `/v1`, and the public feeds."""

from collections.abc import Sequence
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.http.api import add_routes, answer_without_route, api, is_api_path
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from envelope.brand.payloads import SLUG_PATTERN
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.brand_parts import BrandPart
from messaging.departure_routes import departure_routes
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.part_routes import PART_BODIES, part_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes
from receipts import Receipts, serve_receipts
from social import calendar, problem_codes
from social.activity import activity_routes
from social.erasure import DEPARTURES
from social.post_metrics import post_metrics_routes
from social.post_search import post_search_routes
from social.review import COUNT, count_routes, review_routes
from social.sending import DuePosts, rule_routes
from social.urls import FeedUrls

DESCRIPTION: Final = "Review, calendar, metrics and activity of posts. Feeds of published posts are public."


def create_api(
    database: Database,
    authorise: Authorise,
    urls: FeedUrls,
    due: DuePosts,
    *,
    feeds: ASGIApp,
    receipts: Receipts | None = None,
) -> FastAPI:
    """The API under `/v1`, which needs a key; the feeds answer all other paths."""
    app = api(
        "Brand Engine: social",
        authorise,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        codes=(*problem_codes.ALL, *MESSAGE_CODES),
        larger_bodies=EDIT_BODIES | PART_BODIES,
        answers=database,
        description=DESCRIPTION,
    )
    add_routes(
        app,
        review_routes(database, urls, due),
        count_routes(database, urls, due),
        rule_routes(database),
        *calendar.routes(database, due),
        activity_routes(database),
        post_search_routes(database),
        post_metrics_routes(database),
        part_routes(database, _load_parts, slug_pattern=SLUG_PATTERN),
        departure_routes(database, DEPARTURES, slug_pattern=SLUG_PATTERN),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
    )
    if receipts is not None:
        serve_receipts(app, receipts)
    keep_audit_log(app, database, changes_nothing=[COUNT])

    async def others(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_api_path(scope["path"]):
            # API clients get a problem, not an HTML page.
            await answer_without_route(app, scope)(scope, receive, send)
            return
        await feeds(scope, receive, send)

    app.mount("/", others)
    return app


def _load_parts(goes_on: bool) -> Sequence[BrandPart[Any]]:
    # Loaded on demand: exports and imports are rare.
    from social.brand_parts import MOVING_PARTS, PARTS  # noqa: PLC0415

    return MOVING_PARTS if goes_on else PARTS
