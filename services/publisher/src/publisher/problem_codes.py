"""The codes of this service's refusals; `chassis.http.problem_codes` has those of all APIs."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

NO_SITE = ProblemCode("no_site", HTTPStatus.NOT_FOUND, "The brand has no site yet.")
NO_LOGO = ProblemCode("no_logo", HTTPStatus.NOT_FOUND, "The brand has no logo.")
INVALID_PICTURE = ProblemCode(
    "invalid_picture", HTTPStatus.UNPROCESSABLE_ENTITY, "The picture cannot be used; `detail` says why."
)
EXPORT_UNDER_WAY = ProblemCode(
    "export_under_way",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Another site is being exported; again after `Retry-After`.",
)
UNKNOWN_ARTICLE = ProblemCode(
    "unknown_article", HTTPStatus.NOT_FOUND, "There is no such article, or it is being written."
)
ADDRESS_RESERVED = ProblemCode(
    "address_reserved", HTTPStatus.CONFLICT, "The address is the shared one of all sites."
)
ADDRESS_NOT_PROVEN = ProblemCode(
    "address_not_proven",
    HTTPStatus.FORBIDDEN,
    "Nothing proves that the brand controls the address; `detail` says which file would.",
)
FOLDER_NOT_GIVEN = ProblemCode(
    "folder_not_given", HTTPStatus.FORBIDDEN, "No administrator has given the brand this folder."
)
FOLDER_TAKEN = ProblemCode(
    "folder_taken", HTTPStatus.CONFLICT, "The folder belongs to another brand, or overlaps such a folder."
)
ADDRESS_TAKEN = ProblemCode(
    "address_taken", HTTPStatus.CONFLICT, "The address leads to another brand's site."
)
NOTHING_SET = ProblemCode("nothing_set", HTTPStatus.NOT_FOUND, "The target has no settings.")
TARGET_IS_BUILT_IN = ProblemCode(
    "target_is_built_in", HTTPStatus.UNPROCESSABLE_ENTITY, "The built-in site has settings of its own."
)

ALL: Final = listed_codes(globals())
