"""Reads documents of another service by id; concurrent reads share requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar
from uuid import UUID

from pydantic import ValidationError

from chassis.coalescing import RequestCoalescer
from chassis.http.client import (
    FailedError,
    JsonAnswer,
    NotThereError,
    PassingError,
    ServiceClient,
    UnavailableError,
    Unchanged,
    UnusableAnswerError,
)

MAX_AT_ONCE: Final = 16
"""Documents per request."""

DocumentT = TypeVar("DocumentT")
_ReadT = TypeVar("_ReadT")


class Documents(Generic[DocumentT]):
    """Reads documents by `GET /v1/{kind}/{id}`, or several known ones by `GET /v1/{kind}?id=…&id=…`.

    Args:
        client: client of the service that has them.
        kind: their name in paths and in errors.
        read_one: parses the answer for an id; may raise `ValidationError` and `UnusableAnswerError`.
        read_list: parses the body of a list into documents by id; may raise the same.
    """

    def __init__(
        self,
        client: ServiceClient,
        kind: str,
        *,
        read_one: Callable[[UUID, JsonAnswer], DocumentT],
        read_list: Callable[[bytes], Mapping[UUID, DocumentT]],
    ) -> None:
        self._client = client
        self._kind = kind
        self._read_one = read_one
        self._read_list = read_list
        self._coalescer: RequestCoalescer[UUID, DocumentT] = RequestCoalescer(self._ask, limit=MAX_AT_ONCE)

    async def get(self, document_id: UUID) -> DocumentT:
        """Return the current document.

        Raises:
            PassingError: see `ServiceClient.get`.
            UnusableAnswerError: the answer does not follow the contract, or is too large.
        """
        return await self._coalescer.get(document_id)

    async def get_if_changed(self, document_id: UUID, known_etag: str) -> DocumentT | Unchanged:
        """Return the current document, or `Unchanged` if `known_etag` is current. Raises the errors of `get`."""
        path = self._path(document_id)
        answer = await self._client.get(path, about=self._called(document_id), known_etag=known_etag)
        if isinstance(answer, Unchanged):
            return answer
        return self._understood(path, lambda: self._read_one(document_id, answer))

    async def _ask(self, document_ids: Sequence[UUID]) -> dict[UUID, DocumentT | Exception]:
        answers: dict[UUID, DocumentT | Exception] = {}
        if len(document_ids) > 1:
            # An error of one document shows when it is read alone, without affecting the others. A list omits unknown
            # ids; a missing list means a version without lists.
            try:
                answers.update(await self._several(document_ids))
            except (UnusableAnswerError, FailedError, NotThereError):
                pass
            except UnavailableError as problem:
                return {document_id: self._missed(document_id, problem) for document_id in document_ids}
        for document_id in document_ids:
            if document_id not in answers:
                answers[document_id] = await self._one_or_problem(document_id)
        return answers

    async def _several(self, document_ids: Sequence[UUID]) -> Mapping[UUID, DocumentT]:
        path = f"/v1/{self._kind}?{'&'.join(f'id={document_id}' for document_id in document_ids)}"
        answer = await self._client.get(path, about=f"lists of {self._kind}")
        assert isinstance(answer, JsonAnswer)
        return self._understood(path, lambda: self._read_list(answer.body))

    async def _one_or_problem(self, document_id: UUID) -> DocumentT | Exception:
        path = self._path(document_id)
        try:
            answer = await self._client.get(path, about=self._called(document_id))
            assert isinstance(answer, JsonAnswer)
            return self._understood(path, lambda: self._read_one(document_id, answer))
        except (PassingError, UnusableAnswerError) as problem:
            return problem

    def _missed(self, document_id: UUID, problem: UnavailableError) -> UnavailableError:
        """Return the common outage as an error for one document: each ends in the records of its own message."""
        missed = UnavailableError(f"{problem}; asked for {self._called(document_id)}", after=problem.after)
        missed.__cause__ = problem.__cause__
        return missed

    def _path(self, document_id: UUID) -> str:
        return f"/v1/{self._kind}/{document_id}"

    def _called(self, document_id: UUID) -> str:
        return f"{self._kind} {document_id}"

    def _understood(self, path: str, read: Callable[[], _ReadT]) -> _ReadT:
        try:
            return read()
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'body'}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_input=False)[:5]
            )
            raise UnusableAnswerError(
                f"{self._client.peer.name}'s answer at {path} does not follow the contract ({problems}); "
                "bring both services to versions that fit, then replay"
            ) from error
