"""Errors of calls; each message says what was wrong and is fit for people."""

from collections.abc import Mapping
from typing import Any


class ClientError(Exception):
    """A call has no answer that can be used."""


class AddressError(ClientError):
    """The address or the key of a service is malformed."""


class UnreachableError(ClientError):
    """The service does not answer, or the connection broke."""


class StrangeAnswerError(ClientError):
    """The answer cannot be from this service: the address may be another server's."""


class UnchangedError(ClientError):
    """The entity tag given as `if_none_match` is still current (HTTP 304)."""


class RefusedError(ClientError):
    """The service refuses the request.

    Attributes:
        status: the HTTP status.
        service: the name of the service, such as `orchestrator`.
        problem: the problem of RFC 9457, such as `{"code": "unknown_brand", "detail": …}`; empty if the answer has none.
    """

    def __init__(self, message: str, status: int, problem: Mapping[str, Any], service: str = "") -> None:
        super().__init__(message)
        self.service = service
        self.status = status
        self.problem = problem

    @property
    def code(self) -> str | None:
        """Identifies the refusal for programs."""
        return self.problem.get("code")
