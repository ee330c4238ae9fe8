"""The HTTP API: the feed of events, the live stream, subscriptions, and webhooks out and in."""

from fastapi import FastAPI

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from events import problem_codes
from events.feed_routes import feed_routes
from events.incoming_hooks.metrics import CountRefusal, uncounted
from events.incoming_hooks.receiving import IncomingHooks
from events.incoming_hooks.routes import ROTATE, SHOWN_ONCE, hook_routes
from events.live.follower import EventFollower
from events.subscriptions.routes import ACKNOWLEDGE, PULL, subscription_routes
from events.webhooks.gateway import WebhookGateway
from events.webhooks.routes import webhook_routes
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes


def create_api(
    database: Database,
    authorise: Authorise,
    follower: EventFollower,
    gateway: WebhookGateway | None = None,
    *,
    count_refused_hook: CountRefusal = uncounted,
) -> FastAPI:
    """Builds the API; without a gateway no webhook can be made. `count_refused_hook` counts refused requests to incoming webhooks."""
    app = api(
        "Brand Engine: events",
        authorise,
        codes=(*problem_codes.ALL, *MESSAGE_CODES),
        larger_bodies=EDIT_BODIES,
        answers=database,
        shown_once=[ROTATE],
        takes_api_keys=True,
        description="What happened, for other systems: as a feed, as a live stream, for readers that pull, and by webhooks. Incoming webhooks become commands.",
    )
    add_routes(
        app,
        feed_routes(database, follower),
        *subscription_routes(database),
        *webhook_routes(database, gateway),
        hook_routes(database),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
    )
    # Taking events changes nothing that anybody would look up.
    keep_audit_log(app, database, changes_nothing=(PULL, ACKNOWLEDGE), shown_once=SHOWN_ONCE)
    # Around all of it: senders have no API key.
    app.add_middleware(IncomingHooks, database=database, count_refusal=count_refused_hook)
    return app
