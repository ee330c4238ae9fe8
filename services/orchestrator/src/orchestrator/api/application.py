"""The HTTP API: all routes behind the authorisation, and the answers to their errors."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any, Final

from fastapi import FastAPI

from chassis.http.api import add_routes, api, refuse_with
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.problem_codes import IDEMPOTENCY_KEY_USED, UNKNOWN_BRAND
from envelope.brand.payloads import SLUG_PATTERN
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.brand_parts import BrandPart
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.part_routes import PART_BODIES, part_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes
from orchestrator import cycles, review, schedule, workflows
from orchestrator import problem_codes as codes
from orchestrator.activity import activity_routes
from orchestrator.api.keys import SHOWN_ONCE, KeyQuotas, key_routes
from orchestrator.article_workflow import CHECK, LARGER_TEXTS, content_routes
from orchestrator.audits import audit_routes
from orchestrator.brand_moves import move_routes
from orchestrator.brands import EXTRACTIVE, UnknownBrandError, brand_routes
from orchestrator.calendar import calendar_routes
from orchestrator.cycles import DEFAULT_LIMITS, BrandLimits, ReusedKeyError, cycle_routes
from orchestrator.erasure import erasure_routes
from orchestrator.judge_exams import ExamPlan, judge_routes
from orchestrator.placements import placement_routes
from orchestrator.received_commands import LARGER_BODIES as COMMAND_BODIES
from orchestrator.received_commands import command_routes
from orchestrator.removal import BrandErasingError
from orchestrator.review import agent_of, review_routes, waits_of
from orchestrator.schedule import schedule_routes
from orchestrator.subjects import subject_routes
from orchestrator.workflows import workflow_routes

STUCK_AFTER: Final = timedelta(hours=1)
DESCRIPTION: Final = """
Turns keywords into published, promoted articles.

1. `PUT /v1/brands/{slug}`: create a brand.
2. `POST /v1/brands/{slug}/research`: submit keywords; the answer names a cycle.
3. `GET /v1/cycles/{cycle_id}`: follow it; each keyword ends as completed, refused, needs_review, rejected, failed or
   cancelled, with links and reasons.
4. `GET /v1/drafts`: list the drafts that wait for a person; approve, edit or reject them.

Every request needs a key: an API key in the header `Authorization: Bearer …`, or the service key in `X-Service-Key`. Every refusal is a problem
(`application/problem+json`, RFC 9457) whose `detail` is a sentence that says what to do and
whose `code` never changes its meaning.
"""


def http_api(
    database: Database,
    authorise: Authorise,
    *,
    writers: AbstractSet[str] = frozenset({EXTRACTIVE}),
    limits: BrandLimits = DEFAULT_LIMITS,
    stuck_after: timedelta = STUCK_AFTER,
    judges: Sequence[str] = (),
    exam: ExamPlan | None = None,
    judges_at_gateway: bool = False,
) -> FastAPI:
    """The FastAPI application of this service.

    Args:
        database: the service's.
        authorise: says who sent a request; raises HTTPException 401 for one without a key.
        writers: writers that a brand may choose.
        limits: how much work of one brand may be under way at a time.
        stuck_after: an article without progress for this long is shown as stuck.
        judges: models that judge, by their names in requests.
        exam: questions and size of a judge's exam; None if no model judges.
        judges_at_gateway: whether the judges are reached through the gateway.
    """
    app = api(
        "Brand Engine: orchestrator",
        authorise,
        larger_bodies=cycles.LARGER_BODIES
        | review.LARGER_TEXTS
        | LARGER_TEXTS
        | schedule.LARGER_BODIES
        | COMMAND_BODIES
        | EDIT_BODIES
        | PART_BODIES,
        lists=cycles.LARGER_BODIES,
        takes_api_keys=True,
        answers=database,
        shown_once=SHOWN_ONCE,
        quotas=KeyQuotas(database),
        codes=(*codes.ALL, *MESSAGE_CODES),
        unseen=lambda slug: str(UnknownBrandError(slug)),
        description=DESCRIPTION,
        license_info={"name": "MIT"},
        openapi_tags=[
            {"name": "brands", "description": "Brands: language, writer, targets and channels."},
            {"name": "cycles", "description": "Batches of keywords and their progress."},
            {
                "name": "schedules",
                "description": "Rules that submit keywords, or start an audit, at set times.",
            },
            {"name": "calendar", "description": "Scheduled articles and firings of schedules."},
            {
                "name": "audits",
                "description": "Checks of a brand's articles for outdated, broken or lost ones.",
            },
            {"name": "content", "description": "The articles."},
            {"name": "drafts", "description": "Drafts that wait for a person, and decisions about them."},
            {"name": "commands", "description": "Commands of other systems, as messages."},
            {"name": "workflows", "description": "The steps in which each article is written."},
            {"name": "judges", "description": "Models that judge what a model wrote, and their exams."},
            {"name": "keys", "description": "API keys: scopes, brands and limits."},
            {"name": "retries", "description": "Messages that wait for another attempt."},
            {"name": "backbone", "description": "Queues, outbox and state of the process."},
            {"name": "doctor", "description": "Probes of broker and database."},
            {"name": "audit log", "description": "Changes made over this API, with caller and time."},
        ],
    )
    add_routes(
        app,
        brand_routes(database, writers, agent_of, waits_of),
        cycle_routes(database, limits),
        subject_routes(database),
        schedule_routes(database),
        calendar_routes(database),
        audit_routes(database, limits),
        activity_routes(database),
        erasure_routes(database),
        move_routes(database),
        part_routes(
            database, lambda goes_on: _load_parts(writers, goes_on=goes_on), slug_pattern=SLUG_PATTERN
        ),
        content_routes(database),
        placement_routes(database),
        key_routes(database),
        review_routes(database, limits, has_judge=bool(judges)),
        workflow_routes(database, limits, stuck_after),
        command_routes(database, limits),
        judge_routes(database, judges, exam, at_gateway=judges_at_gateway),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
    )
    keep_audit_log(app, database, changes_nothing=[CHECK], shown_once=SHOWN_ONCE)
    refuse_with(
        app,
        {
            UnknownBrandError: UNKNOWN_BRAND,
            ReusedKeyError: IDEMPOTENCY_KEY_USED,
            BrandErasingError: codes.BRAND_BEING_ERASED,
            **workflows.REFUSALS,
        },
    )
    return app


def _load_parts(writers: AbstractSet[str], *, goes_on: bool) -> Sequence[BrandPart[Any]]:
    # Loaded on demand: exports and imports are rare.
    from orchestrator.brand_parts import build_parts  # noqa: PLC0415

    return build_parts(writers, goes_on=goes_on)
