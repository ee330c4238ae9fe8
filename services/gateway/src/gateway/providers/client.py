"""How a provider is asked, and what its answers mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar

from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers.account_settings import AccountSettings
from gateway.providers.http_client import ProviderHttpClient, ProviderResponse


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to a provider: GET, or POST if it has a body.

    Args:
        path: what follows the account's address.
        parameters: of the query.
        headers: with the account's key.
        body: JSON.
    """

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class ProviderAnswer(Protocol):
    """A provider's answer."""

    @property
    def pause(self) -> timedelta | None:
        """How long the provider wants no requests."""


QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT", bound=ProviderAnswer)


@dataclass(frozen=True, slots=True)
class ProviderClient(Generic[QuestionT, AnswerT]):
    """Asks one kind of provider.

    Args:
        request: the request that asks a question with an account's key.
        answer: reads the response of the named account to a question. Raises FailedCall if it is unusable.
        problem: translates an error response of the named account.
    """

    request: Callable[[ProviderAccount, QuestionT], ProviderRequest]
    answer: Callable[[str, ProviderResponse, QuestionT], AnswerT]
    problem: Callable[[str, ProviderResponse], CallProblem]

    async def ask(
        self,
        http: ProviderHttpClient,
        account: ProviderAccount,
        settings: AccountSettings,
        question: QuestionT,
    ) -> AnswerT:
        """Raises FailedCall: there is no answer; `problem` says why."""
        request = self.request(account, question)
        response = await http.send(
            account.name,
            "GET" if request.body is None else "POST",
            f"{settings.url}{request.path}",
            seconds=settings.seconds,
            may_be_private=account.address_of_operator,
            headers=request.headers,
            parameters=request.parameters,
            body=request.body,
        )
        if response.status != HTTPStatus.OK:
            raise FailedCall(self.problem(account.name, response))
        return self.answer(account.name, response, question)
