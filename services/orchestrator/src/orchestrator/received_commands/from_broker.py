"""Commands of other systems that come by AMQP: the same as over HTTP, for the key of the user that published them."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from pydantic_core import from_json

from chassis.http.bodies import TooManyValuesError, ValueCounter
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from messaging import Database
from messaging.broker.outside_queue import OutsideMessage
from messaging.topology.outside import key_of
from orchestrator import problem_codes as codes
from orchestrator.cycles import BrandLimits
from orchestrator.received_commands import store
from orchestrator.received_commands.receiving import CommandOutcome, CommandReceiver, CommandResult

log = structlog.get_logger(__name__)

MAX_BYTES: Final = 2_000_000
_MAX_VALUES: Final = 25_000


class BrokerCommands:
    """Takes the messages of the queue for other systems. Why one was refused is listed for its key.

    Args:
        database: of the service.
        limits: of brands.
        caller_of: the caller of an API key, by its id; raises RefusalError for one that is not valid.
        count: counts a message by its outcome.
    """

    def __init__(
        self,
        database: Database,
        limits: BrandLimits,
        caller_of: Callable[[str], Awaitable[Caller]],
        count: Callable[[str], None],
    ) -> None:
        self._database = database
        self._receiver = CommandReceiver(database, limits)
        self._caller_of = caller_of
        self._count = count

    async def take(self, message: OutsideMessage) -> None:
        """Does what a message asks for, once.

        Raises:
            DatabaseUnavailableError: the database is away; the message may come again.
        """
        key_id = key_of(message.user_id)
        if key_id is None:
            # Anybody may publish without it, so nothing is stored.
            log.warning("outside_message_without_user", user=message.user_id)
            self._count(CommandOutcome.REFUSED)
            return
        result = await self._result(key_id, message.body)
        self._count(result.status)
        if result.status is CommandOutcome.REFUSED:
            async with self._database.transaction() as tx:
                await store.insert_refusal(
                    tx.connection, key_id, result.id, result.type, str(result.code), str(result.detail)
                )

    async def _result(self, key_id: str, body: bytes) -> CommandResult:
        try:
            caller = await self._caller_of(key_id)
            document = _document(body)
        except RefusalError as error:
            return CommandResult(
                None, None, CommandOutcome.REFUSED, code=error.code.code, detail=error.detail
            )
        return await self._receiver.receive(caller, document)


def _document(body: bytes) -> Any:
    if len(body) > MAX_BYTES:
        raise RefusalError(codes.INVALID_MESSAGE, f"it is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        ValueCounter(_MAX_VALUES).feed(body)
        return from_json(body, allow_inf_nan=False)
    except TooManyValuesError:
        raise RefusalError(
            codes.INVALID_MESSAGE, f"it has more than {_MAX_VALUES:,} fields and entries"
        ) from None
    except ValueError as error:
        raise RefusalError(codes.INVALID_MESSAGE, f"it is not valid JSON: {error}") from error
