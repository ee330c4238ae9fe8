"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

UNKNOWN_NOTE = ProblemCode("unknown_note", HTTPStatus.NOT_FOUND, "There is no such note.")

ALL: Final = listed_codes(globals())
