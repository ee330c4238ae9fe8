"""Refusal codes of this service; codes that all APIs share are in `chassis.http.problem_codes`."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import (
    ProblemCode,
    conflict,
    listed_codes,
    not_found,
    precondition_failed,
    unprocessable,
)

UNKNOWN_KEYS_BRAND = unprocessable(
    "unknown_brand_of_key", "A key cannot be bound to a brand that there is not."
)
UNKNOWN_KEY = not_found("unknown_key", "There is no API key of this id.")
KEY_NAME_TAKEN = conflict("key_name_taken", "Another API key has the name.")
KEY_REVOKED = conflict("key_revoked", "The API key was revoked, so its secret cannot be changed.")
UNKNOWN_CYCLE = not_found("unknown_cycle", "There is no such cycle, or it is kept no more.")
UNKNOWN_KEYWORD = not_found("unknown_keyword", "There is no such keyword, or it is kept no more.")
KEYWORD_HAS_ITS_TURN = conflict(
    "keyword_has_its_turn", "The keyword waits no more, so that its priority cannot be changed."
)
UNKNOWN_AUDIT = not_found("unknown_audit", "The brand has no such audit, or it is kept no more.")
UNKNOWN_ERASURE = not_found("unknown_erasure", "No brand of this name was erased.")
UNKNOWN_ARTICLE = not_found("unknown_article", "There is no such article, or it is being written.")
UNKNOWN_VERSION = not_found("unknown_version", "The article has no such version.")
UNKNOWN_DRAFT = not_found("unknown_draft", "There is no such draft.")
UNKNOWN_CUT = not_found("unknown_cut", "The checks cut no sentence of this number from the draft.")
UNKNOWN_PROPOSAL = not_found("unknown_proposal", "The article has no such proposal.")
UNKNOWN_SCHEDULE = not_found("unknown_schedule", "The brand has no schedule of this name.")
UNKNOWN_TARGET = not_found("unknown_target", "The brand has no such target.")
UNKNOWN_WORKFLOW = not_found("unknown_workflow", "There is no such workflow.")
UNKNOWN_STEP = not_found("unknown_step", "The workflow has no result of such a step.")
ARTICLE_DELETED = ProblemCode(
    "article_deleted", "The article was deleted; `detail` says when and by whom.", HTTPStatus.GONE
)
INVALID_SLUG = unprocessable("invalid_slug", "No brand can have this slug.")
INVALID_LIST = unprocessable("invalid_list", "The list of keywords cannot be read; `detail` names the line.")
WRITER_NOT_AVAILABLE = unprocessable(
    "writer_not_available", "The writer is not set up, or does not write the brand's language."
)
BRAND_CHANGED = precondition_failed("brand_changed", "The brand has changed since it was read.")
BRAND_MISSING = precondition_failed("brand_missing", "`If-Match` names a brand that there is not.")
BRAND_EXISTS = precondition_failed(
    "brand_exists", "`If-None-Match: *` asks for a new brand, and there is one of this name."
)
BRAND_MOVES = conflict("brand_moves", "The brand is moving to another installation.")
BRAND_MOVED = conflict("brand_moved", "The brand has moved to another installation; `detail` says where.")
UNKNOWN_MOVE = not_found("unknown_move", "The brand does not move.")
MOVE_STEP_TOO_EARLY = conflict("move_step_too_early", "An earlier step of the move is missing.")
MOVE_TOO_FAR = conflict("move_too_far", "The move can only go on: the accounts change over.")
BRAND_BEING_ERASED = conflict("brand_being_erased", "The brand is being erased.")
ERASURE_NOT_CONFIRMED = unprocessable("erasure_not_confirmed", "`confirm` is not the name of the brand.")
NOT_YET_PUBLISHED = conflict("not_yet_published", "The article is not published at its home yet.")
DECIDED_OTHERWISE = conflict("decided_otherwise", "Somebody else has decided meanwhile.")
TOO_MANY_PROPOSALS = conflict("too_many_proposals", "The article has as many open proposals as it may have.")
CANNOT_REWRITE = conflict("cannot_rewrite", "The article cannot be written again.")
UNUSABLE_TEXT = unprocessable("unusable_text", "The text cannot be used; `detail` says why.")
PAST_TIME = unprocessable("past_time", "The time has gone by.")
INVALID_SCHEDULE = unprocessable("invalid_schedule", "The schedule cannot be kept so; `detail` says why.")
TOO_MANY_SCHEDULES = conflict("too_many_schedules", "The brand has as many schedules as it may have.")
SCHEDULE_NOT_REMOVABLE = conflict("schedule_not_removable", "The schedule can be paused, and not be removed.")
SCHEDULE_NOT_ACTIVE = conflict(
    "schedule_not_active", "The schedule is paused, given up or ended; `detail` says what to do."
)
UNKNOWN_JUDGE = not_found("unknown_judge", "No model of this name judges here.")
WORKFLOW_NOT_READY = conflict("workflow_not_ready", "The state of the workflow does not allow this.")
INVALID_MESSAGE = unprocessable(
    "invalid_message", "The message is neither an envelope nor a CloudEvent, or its data do not fit its type."
)
UNKNOWN_COMMAND = unprocessable("unknown_command", "No command of this type may be sent by others.")
STALE_MESSAGE = unprocessable("stale_message", "The message is too old, or its time is in the future.")
MESSAGE_ID_USED = conflict("message_id_used", "Another message of the same source and id was done already.")

ALL: Final = listed_codes(globals())
