"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from typing import Final

from chassis.http.problem_codes import conflict, listed_codes, not_found, unprocessable

UNKNOWN_RESEARCH = not_found("unknown_research", "There is no such research.")
UNKNOWN_DOCUMENT = not_found("unknown_document", "There is no such document.")
NOTHING_TO_RELEASE = conflict("nothing_to_release", "The document is not set aside.")
DOCUMENTS_FULL = conflict("documents_full", "The brand has as many documents as it may have.")
EMPTY_FILE = unprocessable("empty_file", "The file is empty.")
GATEWAY_NOT_CONFIGURED = unprocessable(
    "gateway_not_configured", "This needs a gateway, and none is configured."
)

ALL: Final = listed_codes(globals())
