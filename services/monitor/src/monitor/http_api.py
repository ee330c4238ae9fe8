"""The HTTP API for operators."""

from typing import Final

from fastapi import FastAPI

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from messaging import Database
from monitor import dead_letters, problem_codes
from monitor.dead_letters import DeadLetterOperations
from monitor.notifications import Notifier, NotifierGateway, notification_routes

DESCRIPTION: Final = (
    "Messages that ended in a dead-letter queue, why, and what became of them. A replay is a new message; its dead "
    "letter is resolved when its consumer has handled that one. Notifications tell people of these and of whatever else wants "
    "their eye."
)


def create_api(
    database: Database,
    operations: DeadLetterOperations,
    authorise: Authorise,
    gateway: NotifierGateway | None = None,
    notifier: Notifier | None = None,
) -> FastAPI:
    """Without a gateway nobody can be told of anything."""
    app = api(
        "Brand Engine: monitor",
        authorise,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        codes=problem_codes.ALL,
        answers=database,
        description=DESCRIPTION,
    )
    add_routes(
        app,
        *dead_letters.routes(database, operations),
        *notification_routes(database, gateway, notifier),
    )
    keep_audit_log(app, database, changes_nothing=[dead_letters.OUTCOMES])
    return app
