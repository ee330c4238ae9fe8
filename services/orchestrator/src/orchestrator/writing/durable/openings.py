"""How commands begin: what has to be known of each, asked for all that begin at the same time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chassis import DatabaseUnavailableError
from chassis.coalescing import RequestCoalescer
from messaging import Database
from orchestrator.brands import Brand, find_brands
from orchestrator.removal import Late, late_among
from orchestrator.writing.durable.commands import Command, stand_back, take_up_all
from orchestrator.writing.durable.results import results_of_all
from orchestrator.writing.durable.workflow import Workflow

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that is to begin."""

    command: Command
    brand_slug: str
    sent_at: datetime
    workflow_id: UUID
    """Under which the steps are."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known of a command as it begins."""

    late: bool = False
    """Its article was deleted, or its brand erased: it is not taken up."""
    brand: Brand | None = None
    """None: there is none, and it is not taken up either."""
    steps_id: UUID | None = None
    """The id under which the writer keeps its steps; None if the command is not to be carried out."""
    results: Mapping[str, str] | None = None
    """As JSON, of those steps that are done."""


class Openings:
    """Takes commands up; `hold` as of `take_up`."""

    def __init__(self, database: Database, hold: timedelta) -> None:
        self._database = database
        self._hold = hold
        self._gathering: RequestCoalescer[Asked, Opening] = RequestCoalescer(self._begin, limit=AT_ONCE)

    async def of(self, asked: Asked) -> Opening:
        """Takes the command up, unless it is too late or its brand is unknown.

        Raises:
            WaitFor: another command has the article in hand.
        """
        opening = await self._gathering.get(asked)
        if opening.brand is not None and opening.steps_id is None:
            async with self._database.connection() as connection:
                await stand_back(connection, asked.command)
        return opening

    def workflow(self, asked: Asked, opening: Opening) -> Workflow:
        """The command's, to go on with."""
        return Workflow(self._database, asked.workflow_id, dict(opening.results or {}))

    async def _begin(self, asked: Sequence[Asked]) -> Mapping[Asked, Opening | Exception]:
        try:
            return await self._take_up(asked)
        except DatabaseUnavailableError:
            raise
        except Exception:
            if len(asked) == 1:
                raise
        # What is wrong with one of them, or in whose way it stood, is no matter of the others.
        alone: dict[Asked, Opening | Exception] = {}
        for each in asked:
            try:
                alone |= await self._take_up([each])
            except DatabaseUnavailableError:
                raise
            except Exception as error:  # noqa: BLE001  (raised again, to who asked)
                alone[each] = error
        return alone

    async def _take_up(self, asked: Sequence[Asked]) -> dict[Asked, Opening]:
        async with self._database.connection() as connection:
            late = await late_among(
                connection, [Late(each.brand_slug, each.sent_at, each.command.content_id) for each in asked]
            )
            brands = await find_brands(connection, {each.brand_slug for each in asked})
            begin = [
                each.command
                for each, is_late in zip(asked, late, strict=True)
                if not is_late and each.brand_slug in brands
            ]
            taken = await take_up_all(connection, begin, self._hold) if begin else {}
            # Once they are in hand: whoever had them before has stored all that it will.
            further = [
                each.workflow_id
                for each in asked
                if (begun := taken.get(each.command)) is not None and not begun.is_first
            ]
            results = await results_of_all(connection, further) if further else {}
        return {
            each: Opening(late=True)
            if is_late
            else Opening(
                brand=brands.get(each.brand_slug),
                steps_id=taken[each.command].steps_id if each.command in taken else None,
                results=results.get(each.workflow_id),
            )
            for each, is_late in zip(asked, late, strict=True)
        }
