"""Asking the provider of an account: with its newest key, and with word to all replicas of how it went."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeVar

from gateway.credentials import Account, Accounts
from gateway.limits import Gates
from gateway.outcomes import Failed


class Answered(Protocol):
    """What a provider answered."""

    @property
    def pause(self) -> timedelta | None:
        """How long it wants to be left alone."""


_Answered = TypeVar("_Answered", bound=Answered)


async def ask(
    accounts: Accounts, gates: Gates, account: Account, send: Callable[[Account], Awaitable[_Answered]]
) -> _Answered:
    """What `send` answers for the account; once more if its key was replaced while the old one was being refused.

    Raises:
        Failed: of `send`.
    """
    try:
        try:
            answered = await send(account)
        except Failed as failed:
            if (renewed := await accounts.renewed(account, failed.problem)) is None:
                raise
            answered = await send(renewed)
    except Failed as failed:
        await gates.failed(account.name, failed.problem)
        raise
    await gates.answered(account.name, answered.pause)
    return answered
