"""Documents of another service, read by id; those that are wanted at the same time are read together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar
from uuid import UUID

from pydantic import ValidationError

from chassis.gathering import Gathering
from chassis.http.client import (
    Answer,
    FailedError,
    NotThereError,
    PassingError,
    ServiceClient,
    UnavailableError,
    Unchanged,
    UnusableAnswerError,
)

MAX_AT_ONCE: Final = 16
"""Documents asked for in one request."""

DocumentT = TypeVar("DocumentT")
_ReadT = TypeVar("_ReadT")


class Documents(Generic[DocumentT]):
    """`GET /v1/{kind}/{id}` gives one, `GET /v1/{kind}?id=…&id=…` those of several that are known.

    Args:
        client: for the service that has them.
        kind: what they are called in paths and in errors.
        read_one: makes a document of an answer about the id; may raise `ValidationError` and `UnusableAnswerError`.
        read_list: makes documents of the body of a list, by their ids; may raise the same.
    """

    def __init__(
        self,
        client: ServiceClient,
        kind: str,
        *,
        read_one: Callable[[UUID, Answer], DocumentT],
        read_list: Callable[[bytes], Mapping[UUID, DocumentT]],
    ) -> None:
        self._client = client
        self._kind = kind
        self._read_one = read_one
        self._read_list = read_list
        self._gathering: Gathering[UUID, DocumentT] = Gathering(self._ask, limit=MAX_AT_ONCE)

    async def get(self, document_id: UUID) -> DocumentT:
        """The document as it stands.

        Raises:
            PassingError: as `ServiceClient.get` raises it.
            UnusableAnswerError: an answer that does not follow the contract, or one that is too large.
        """
        return await self._gathering.get(document_id)

    async def get_if_changed(self, document_id: UUID, known_etag: str) -> DocumentT | Unchanged:
        """The document as it stands, or `Unchanged` if `known_etag` still names it. Raises what `get` does."""
        path = self._path(document_id)
        answer = await self._client.get(path, about=self._called(document_id), known_etag=known_etag)
        if isinstance(answer, Unchanged):
            return answer
        return self._understood(path, lambda: self._read_one(document_id, answer))

    async def _ask(self, document_ids: Sequence[UUID]) -> dict[UUID, DocumentT | Exception]:
        answers: dict[UUID, DocumentT | Exception] = {}
        if len(document_ids) > 1:
            # Whatever is wrong with one of them, asking alone will tell, and not at its neighbours' expense. A list
            # leaves out what is unknown: one that is not there belongs to a version that has no lists yet.
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
        assert isinstance(answer, Answer)
        return self._understood(path, lambda: self._read_list(answer.body))

    async def _one_or_problem(self, document_id: UUID) -> DocumentT | Exception:
        path = self._path(document_id)
        try:
            answer = await self._client.get(path, about=self._called(document_id))
            assert isinstance(answer, Answer)
            return self._understood(path, lambda: self._read_one(document_id, answer))
        except (PassingError, UnusableAnswerError) as problem:
            return problem

    def _missed(self, document_id: UUID, problem: UnavailableError) -> UnavailableError:
        """What kept all of them away, as an error of this one's own: it ends in the records of one message."""
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
