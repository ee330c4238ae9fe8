"""Hands what arrived over to the orchestrator, as commands, until it has answered."""

import asyncio
from datetime import timedelta
from typing import Any, Final

import structlog

from chassis.http.client import PassingError, Peer, ServiceClient, UnusableAnswerError
from events.incoming_hooks import store
from events.incoming_hooks.metrics import CountRefusal, uncounted
from events.incoming_hooks.store import ArrivalState, WaitingCommand
from messaging import Database

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(seconds=1)
_AT_ONCE: Final = 8
_SECONDS: Final = 20.0
_LEASE: Final = timedelta(seconds=60)
"""Longer than a request may take: a process that dies meanwhile delays a command by this."""
_FIRST_PAUSE: Final = timedelta(seconds=2)
_LONGEST_PAUSE: Final = timedelta(minutes=1)
_MOST_DOUBLINGS: Final = 10
_LONGEST_DETAIL: Final = 500


class HookForwarder:
    """Sends each waiting arrival as a message with the arrival's id, so that the orchestrator does it once."""

    def __init__(
        self, database: Database, orchestrator: Peer, count_refusal: CountRefusal = uncounted
    ) -> None:
        self._database = database
        self._count_refusal = count_refusal
        self._http = ServiceClient(orchestrator, timeout_seconds=_SECONDS, max_bytes=1_000_000)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def forward_due(self) -> None:
        """Sends what is due, until nothing is."""
        while True:
            async with self._database.transaction() as tx:
                taken = await store.claim(tx.connection, _AT_ONCE, _LEASE)
            if not taken:
                return
            await asyncio.gather(*map(self._forward, taken))

    async def _forward(self, command: WaitingCommand) -> None:
        try:
            reply = await self._http.ask("POST", "/v1/messages", json=_message(command))
        except (PassingError, UnusableAnswerError) as error:
            await self._postpone(command, str(error))
            return
        results = reply.document.get("results")
        if not isinstance(results, list) or len(results) != 1:
            await self._postpone(command, f"the orchestrator answered {reply.status}")
            return
        result: dict[str, Any] = results[0]
        if result["status"] == "refused" and result.get("code") == "internal_error":
            await self._postpone(command, str(result.get("detail")))
            return
        is_done = result["status"] != "refused"
        detail = result.get("detail")
        async with self._database.transaction() as tx:
            await store.end(
                tx.connection,
                command.arrival_id,
                ArrivalState.DONE if is_done else ArrivalState.REFUSED,
                location=result.get("location"),
                code=result.get("code"),
                detail=None if detail is None else str(detail)[:_LONGEST_DETAIL],
            )
        if not is_done:
            self._count_refusal(str(result.get("code")))
        log.info("hook_forwarded", hook=f"{command.brand}.{command.hook}", status=result["status"])

    async def _postpone(self, command: WaitingCommand, why: str) -> None:
        pause = min(_FIRST_PAUSE * 2 ** min(command.attempts - 1, _MOST_DOUBLINGS), _LONGEST_PAUSE)
        async with self._database.transaction() as tx:
            await store.postpone(tx.connection, command.arrival_id, pause, why[:_LONGEST_DETAIL])
        log.warning("hook_postponed", hook=f"{command.brand}.{command.hook}", problem=why)


def _message(command: WaitingCommand) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": str(command.arrival_id),
        "source": f"/v1/hooks/{command.brand}.{command.hook}",
        "type": command.type,
        "time": command.received_at.isoformat(),
        "data": command.data,
    }
