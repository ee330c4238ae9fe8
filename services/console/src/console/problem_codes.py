"""The console's problem codes; `chassis.http.problem_codes` has those of all APIs."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode

UNKNOWN_PERSON: Final = ProblemCode("unknown_person", "No such person.", HTTPStatus.NOT_FOUND)
PERSON_EXISTS: Final = ProblemCode("person_exists", "Another person has the name.", HTTPStatus.CONFLICT)

ALL: Final = (UNKNOWN_PERSON, PERSON_EXISTS)
