"""Calls a provider with the account's current key, and reports the result to the rate limiter."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeVar

from gateway.credentials import ProviderAccount, ProviderAccounts
from gateway.limits import RateLimiter
from gateway.outcomes import FailedCall


class ProviderAnswer(Protocol):
    """A provider's answer."""

    @property
    def pause(self) -> timedelta | None:
        """How long the provider wants no requests."""


_Answered = TypeVar("_Answered", bound=ProviderAnswer)


async def ask_provider(
    accounts: ProviderAccounts,
    limiter: RateLimiter,
    account: ProviderAccount,
    send: Callable[[ProviderAccount], Awaitable[_Answered]],
) -> _Answered:
    """Returns the answer of `send`; repeats it if the key was replaced during a refused call.

    Raises:
        FailedCall: as `send` does.
    """
    try:
        try:
            answered = await send(account)
        except FailedCall as failed:
            if (renewed := await accounts.renewed(account, failed.problem)) is None:
                raise
            answered = await send(renewed)
    except FailedCall as failed:
        await limiter.failed(account.name, failed.problem)
        raise
    await limiter.answered(account.name, answered.pause)
    return answered
