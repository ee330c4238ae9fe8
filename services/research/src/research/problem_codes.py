"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

UNKNOWN_RESEARCH = ProblemCode("unknown_research", HTTPStatus.NOT_FOUND, "There is no such research.")
UNKNOWN_DOCUMENT = ProblemCode("unknown_document", HTTPStatus.NOT_FOUND, "There is no such document.")
NOTHING_TO_RELEASE = ProblemCode("nothing_to_release", HTTPStatus.CONFLICT, "The document is not set aside.")
DOCUMENTS_FULL = ProblemCode(
    "documents_full", HTTPStatus.CONFLICT, "The brand has as many documents as it may have."
)
EMPTY_FILE = ProblemCode("empty_file", HTTPStatus.UNPROCESSABLE_ENTITY, "The file is empty.")
GATEWAY_NOT_CONFIGURED = ProblemCode(
    "gateway_not_configured", HTTPStatus.UNPROCESSABLE_ENTITY, "This needs a gateway, and none is configured."
)

ALL: Final = listed_codes(globals())
