"""Conventions of all routes under `/v1`: HEAD, ETag, gzip, strict bodies and parameters."""

from chassis.http.conventions.answers import CompressedAnswers, HeadRequests, TaggedAnswers
from chassis.http.conventions.bodies import BodyTypes, UniqueMembers
from chassis.http.conventions.parameters import refuse_unknown_parameters

__all__ = [
    "BodyTypes",
    "CompressedAnswers",
    "HeadRequests",
    "TaggedAnswers",
    "UniqueMembers",
    "refuse_unknown_parameters",
]
