"""Refusal codes of this service; codes that all APIs share are in `chassis.http.problem_codes`."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

UNKNOWN_KEYS_BRAND = ProblemCode(
    "unknown_brand_of_key",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "A key cannot be bound to a brand that there is not.",
)
UNKNOWN_KEY = ProblemCode("unknown_key", HTTPStatus.NOT_FOUND, "There is no API key of this id.")
KEY_NAME_TAKEN = ProblemCode("key_name_taken", HTTPStatus.CONFLICT, "Another API key has the name.")
KEY_REVOKED = ProblemCode(
    "key_revoked", HTTPStatus.CONFLICT, "The API key was revoked, so its secret cannot be changed."
)
UNKNOWN_CYCLE = ProblemCode(
    "unknown_cycle", HTTPStatus.NOT_FOUND, "There is no such cycle, or it is kept no more."
)
UNKNOWN_AUDIT = ProblemCode(
    "unknown_audit", HTTPStatus.NOT_FOUND, "The brand has no such audit, or it is kept no more."
)
UNKNOWN_ERASURE = ProblemCode("unknown_erasure", HTTPStatus.NOT_FOUND, "No brand of this name was erased.")
UNKNOWN_ARTICLE = ProblemCode(
    "unknown_article", HTTPStatus.NOT_FOUND, "There is no such article, or it is being written."
)
UNKNOWN_VERSION = ProblemCode("unknown_version", HTTPStatus.NOT_FOUND, "The article has no such version.")
UNKNOWN_DRAFT = ProblemCode("unknown_draft", HTTPStatus.NOT_FOUND, "There is no such draft.")
UNKNOWN_SCHEDULE = ProblemCode(
    "unknown_schedule", HTTPStatus.NOT_FOUND, "The brand has no schedule of this name."
)
UNKNOWN_TARGET = ProblemCode("unknown_target", HTTPStatus.NOT_FOUND, "The brand has no such target.")
UNKNOWN_WORKFLOW = ProblemCode("unknown_workflow", HTTPStatus.NOT_FOUND, "There is no such workflow.")
UNKNOWN_STEP = ProblemCode("unknown_step", HTTPStatus.NOT_FOUND, "The workflow has no result of such a step.")
ARTICLE_DELETED = ProblemCode(
    "article_deleted", HTTPStatus.GONE, "The article was deleted; `detail` says when and by whom."
)
INVALID_SLUG = ProblemCode("invalid_slug", HTTPStatus.UNPROCESSABLE_ENTITY, "No brand can have this slug.")
INVALID_LIST = ProblemCode(
    "invalid_list",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The list of keywords cannot be read; `detail` names the line.",
)
WRITER_NOT_AVAILABLE = ProblemCode(
    "writer_not_available",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The writer is not set up, or does not write the brand's language.",
)
BRAND_CHANGED = ProblemCode(
    "brand_changed", HTTPStatus.PRECONDITION_FAILED, "The brand has changed since it was read."
)
BRAND_MISSING = ProblemCode(
    "brand_missing", HTTPStatus.PRECONDITION_FAILED, "`If-Match` names a brand that there is not."
)
BRAND_EXISTS = ProblemCode(
    "brand_exists",
    HTTPStatus.PRECONDITION_FAILED,
    "`If-None-Match: *` asks for a new brand, and there is one of this name.",
)
BRAND_BEING_ERASED = ProblemCode("brand_being_erased", HTTPStatus.CONFLICT, "The brand is being erased.")
ERASURE_NOT_CONFIRMED = ProblemCode(
    "erasure_not_confirmed", HTTPStatus.UNPROCESSABLE_ENTITY, "`confirm` is not the name of the brand."
)
NOT_YET_PUBLISHED = ProblemCode(
    "not_yet_published", HTTPStatus.CONFLICT, "The article is not published at its home yet."
)
DECIDED_OTHERWISE = ProblemCode(
    "decided_otherwise", HTTPStatus.CONFLICT, "Somebody else has decided meanwhile."
)
CANNOT_REWRITE = ProblemCode("cannot_rewrite", HTTPStatus.CONFLICT, "The article cannot be written again.")
UNUSABLE_TEXT = ProblemCode(
    "unusable_text", HTTPStatus.UNPROCESSABLE_ENTITY, "The text cannot be used; `detail` says why."
)
PAST_TIME = ProblemCode("past_time", HTTPStatus.UNPROCESSABLE_ENTITY, "The time has gone by.")
INVALID_SCHEDULE = ProblemCode(
    "invalid_schedule", HTTPStatus.UNPROCESSABLE_ENTITY, "The schedule cannot be kept so; `detail` says why."
)
TOO_MANY_SCHEDULES = ProblemCode(
    "too_many_schedules", HTTPStatus.CONFLICT, "The brand has as many schedules as it may have."
)
SCHEDULE_NOT_REMOVABLE = ProblemCode(
    "schedule_not_removable", HTTPStatus.CONFLICT, "The schedule can be paused, and not be removed."
)
WORKFLOW_NOT_READY = ProblemCode(
    "workflow_not_ready", HTTPStatus.CONFLICT, "The state of the workflow does not allow this."
)

ALL: Final = listed_codes(globals())
