"""Asks providers: each question is charged once, and keeps to the limits of its account."""

from collections.abc import Callable

from chassis import Connection
from gateway.calls.domain import CallRequest
from gateway.calls.paid_calls import CallAnswer, PaidCalls
from gateway.credentials import ProviderAccount, ProviderAccounts
from gateway.limits import Permit, PermitDelay, RateLimiter
from gateway.outcomes import AnsweredCall, FailedCall
from gateway.providers import ProviderHttpClient
from gateway.providers.account_settings import AccountSettings
from gateway.providers.client import AnswerT, ProviderClient, QuestionT


class ProviderCaller:
    """Calls providers with their accounts' keys; the process has one."""

    def __init__(
        self,
        accounts: ProviderAccounts,
        paid_calls: PaidCalls,
        limiter: RateLimiter,
        http: ProviderHttpClient,
    ) -> None:
        self.accounts = accounts
        self._paid_calls = paid_calls
        self._limiter = limiter
        self._http = http

    async def call(
        self,
        request: CallRequest,
        account: ProviderAccount,
        settings: AccountSettings,
        client: ProviderClient[QuestionT, AnswerT],
        question: QuestionT,
        paid: Callable[[AnswerT], AnsweredCall],
    ) -> CallAnswer:
        """Returns the answer to the question, or a stored one to an identical request.

        Args:
            request: the ledger's entry.
            account: of the provider.
            settings: of the account.
            client: asks this kind of provider.
            question: for the provider.
            paid: the stored form and the price of the provider's answer.

        Raises:
            CallProblemError: there is no answer; `problem` says why.
        """

        async def turn(connection: Connection) -> Permit | PermitDelay:
            return await self._limiter.turn(connection, account.name, request.brand, settings.bounds)

        async def ask(account: ProviderAccount) -> AnswerT:
            return await client.ask(self._http, account, settings, question)

        async def send() -> AnsweredCall:
            try:
                try:
                    answer = await ask(account)
                except FailedCall as failed:
                    # The key may have been replaced since this request read it.
                    if (renewed := await self.accounts.renewed(account, failed.problem)) is None:
                        raise
                    answer = await ask(renewed)
            except FailedCall as failed:
                await self._limiter.failed(account.name, failed.problem)
                raise
            await self._limiter.answered(account.name, answer.pause)
            return paid(answer)

        return await self._paid_calls.execute(request, send, turn)
