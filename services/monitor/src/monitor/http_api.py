"""The HTTP API for operators."""

from typing import Final

from fastapi import FastAPI

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes
from monitor import dead_letters, problem_codes
from monitor.alerts import AlertmanagerClient, PrometheusClient, alert_routes
from monitor.broker_users import SHOWN_ONCE, BrokerUsers, broker_user_routes
from monitor.dead_letters import DeadLetterOperations
from monitor.invitations import invitation_routes
from monitor.ledger import ledger_routes
from monitor.notifications import Notifier, NotifierGateway, notification_routes

DESCRIPTION: Final = (
    "Dead letters, with their reason and outcome, and notifications. A replay is a new message; the dead letter is "
    "resolved once a consumer has handled the replay. Notifications tell people of dead letters and of other things "
    "that need attention. The ledger compares sent messages with their outcomes."
)


def create_api(
    database: Database,
    operations: DeadLetterOperations,
    authorise: Authorise,
    gateway: NotifierGateway | None = None,
    notifier: Notifier | None = None,
    *,
    invitation_mails_per_hour: int = 20,
    prometheus: PrometheusClient | None = None,
    alertmanager: AlertmanagerClient | None = None,
    runbooks: str | None = None,
    broker_users: BrokerUsers | None = None,
) -> FastAPI:
    """The API application; without a gateway, it refuses changes of notification routes and test messages."""
    app = api(
        "Brand Engine: monitor",
        authorise,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        codes=(*problem_codes.ALL, *MESSAGE_CODES),
        larger_bodies=EDIT_BODIES,
        answers=database,
        shown_once=[dead_letters.REVEAL, *SHOWN_ONCE],
        description=DESCRIPTION,
    )
    add_routes(
        app,
        *dead_letters.routes(database, operations),
        dead_letters.canary_routes(dead_letters.CanaryReplays(database)),
        dead_letters.mass_operation_routes(dead_letters.MassOperations(database)),
        *notification_routes(database, gateway, notifier),
        ledger_routes(database, CATALOGUE),
        alert_routes(database, prometheus, alertmanager, runbooks=runbooks),
        invitation_routes(database, gateway, per_hour=invitation_mails_per_hour),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
        broker_user_routes(broker_users or BrokerUsers(None, "/")),
    )
    keep_audit_log(
        app,
        database,
        changes_nothing=[dead_letters.OUTCOMES],
        shown_once=[dead_letters.REVEAL, *SHOWN_ONCE],
    )
    return app
