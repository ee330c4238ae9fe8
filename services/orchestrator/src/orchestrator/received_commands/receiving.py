"""Does what a message of another system asks for, at most once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import structlog
from pydantic import ValidationError

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.api import describe_invalid
from chassis.http.callers import Caller
from chassis.http.problem_codes import (
    INTERNAL_ERROR,
    SCOPE_MISSING,
    UNKNOWN_BRAND,
    ProblemCode,
    RefusalError,
)
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.brands import UnknownBrandError, seen_slug
from orchestrator.cycles import BrandLimits
from orchestrator.received_commands import store
from orchestrator.received_commands.commands import COMMANDS, CommandContext
from orchestrator.received_commands.formats import ReceivedMessage, read_message, told_of
from orchestrator.removal import BrandErasingError

log = structlog.get_logger(__name__)

AHEAD: Final = timedelta(minutes=5)
"""What the clock of a sender may be ahead."""
RELAYS: Final = frozenset({"events"})
"""Callers that hand over what others sent: the source names the sender, for records of who did something."""
_CODES: Final[Mapping[type[Exception], ProblemCode]] = {
    UnknownBrandError: UNKNOWN_BRAND,
    BrandErasingError: codes.BRAND_BEING_ERASED,
}


class CommandOutcome(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of one message."""

    id: str | None
    type: str | None
    status: CommandOutcome
    location: str | None = None
    """Path of what the command made or changed; None if it was refused."""
    code: str | None = None
    detail: str | None = None


class CommandReceiver:
    """Takes messages, by HTTP or from a queue.

    Two messages are the same if sender, source and id are. Of a refused message nothing is stored, so it may come again
    once its cause is gone.
    """

    def __init__(self, database: Database, limits: BrandLimits) -> None:
        self._database = database
        self._limits = limits

    async def receive(self, caller: Caller, document: object) -> CommandResult:
        """Does what one message asks for, in a transaction of its own that also stores its id.

        Raises:
            DatabaseUnavailableError: the database is away; the same message may be sent again.
        """
        message_id, message_type = told_of(document)
        try:
            message = read_message(document)
            outcome, location = await self._once(caller, message)
        except DatabaseUnavailableError:
            raise
        except RefusalError as error:
            return _refused(message_id, message_type, error.code, error.detail)
        except tuple(_CODES) as error:
            return _refused(message_id, message_type, _CODES[type(error)], str(error))
        except Exception:
            # One message that we fail at must not stop the others.
            log.exception("received_command_failed", type=message_type, sender=caller.name)
            why = "this failed for a reason of ours, which is in the log; send it again later"
            return _refused(message_id, message_type, INTERNAL_ERROR, why)
        log.info("command_received", type=message.type, by=caller.name, outcome=outcome, location=location)
        return CommandResult(message.id, message.type, outcome, location)

    async def _once(self, caller: Caller, message: ReceivedMessage) -> tuple[CommandOutcome, str]:
        kind = COMMANDS.get(message.type)
        if kind is None:
            raise RefusalError(
                codes.UNKNOWN_COMMAND,
                f"there is no command of this type that others may send; there are {', '.join(COMMANDS)}",
            )
        if kind.scope not in caller.scopes:
            raise RefusalError(
                SCOPE_MISSING, f"{message.type} takes the scope '{kind.scope}', which yours has not"
            )
        _check_age(message)
        try:
            data = kind.data.model_validate(message.data)
        except ValidationError as error:
            raise RefusalError(codes.INVALID_MESSAGE, describe_invalid(error, "data")) from error
        brand = seen_slug(data.brand_slug, caller)
        sender = caller.key_id
        async with self._database.connection() as connection:
            known = await store.find(connection, sender, message)
        if known is not None:
            return _again(known, message)
        # Of the brand that it names alone, however many the caller may see.
        bound = replace(caller, brands=frozenset({brand}))
        if sender in RELAYS:
            bound = replace(bound, name=message.source)
        context = CommandContext(self._database, self._limits, bound, brand)
        perform = await kind.prepare(context, data)
        async with self._database.transaction() as tx:
            if await store.claim(tx.connection, sender, message, brand):
                location = await perform(tx)
                await store.set_location(tx.connection, sender, message, location)
                return CommandOutcome.ACCEPTED, location
            known = await store.find(tx.connection, sender, message)
        assert known is not None
        return _again(known, message)


def _check_age(message: ReceivedMessage) -> None:
    now = datetime.now(UTC)
    if message.time < now - store.OLDEST:
        raise RefusalError(
            codes.STALE_MESSAGE,
            f"it is of {message.time.isoformat()}; messages that are older than {store.OLDEST.days} days are refused",
        )
    if message.time > now + AHEAD:
        raise RefusalError(
            codes.STALE_MESSAGE,
            f"its time, {message.time.isoformat()}, is in the future; set the clock of the sender",
        )


def _again(known: store.ReceivedCommand, message: ReceivedMessage) -> tuple[CommandOutcome, str]:
    if known.digest != message.digest:
        raise RefusalError(
            codes.MESSAGE_ID_USED,
            "another message of this id and source was done already; give each message an id of its own",
        )
    return CommandOutcome.DUPLICATE, known.location


def _refused(
    message_id: str | None, message_type: str | None, code: ProblemCode, detail: str
) -> CommandResult:
    log.info("command_refused", type=message_type, code=code.code)
    return CommandResult(message_id, message_type, CommandOutcome.REFUSED, code=code.code, detail=detail)
