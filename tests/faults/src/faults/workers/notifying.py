"""`python -m faults.workers.notifying`: the real monitor with short times, which kills itself at chosen points.

A file in `HOLDS`, `kill.claimed` or `kill.sent`, names a place of a message's way: the first process that comes there takes the file, notes in `killed`
where and with whose message it was, and kills itself.
"""

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Final

from messaging import command_line
from monitor import app
from monitor.notifications import domain, gateway, message_store, notifier
from monitor.notifications.notifier import Notifier
from monitor.settings import Settings

HOLDS: Final = "HOLDS"
CLAIMED, SENT = "claimed", "sent"
SPARED: Final = "calm"
"""A route of which nothing is lost, so that nothing keeps its messages."""

LOOK_SECONDS: Final = 0.5
"""Instead of 15, and so on below."""
PAUSE_SECONDS: Final = 0.2
CALL_SECONDS: Final = 12.0
LEASE_SECONDS: Final = 20.0
RETRY_SECONDS: Final = (0.5, 1.0, 2.0)
FAILING_SECONDS: Final = 3.0


def _hurry() -> None:
    app.OWN = timedelta(seconds=LOOK_SECONDS)  # type: ignore[misc]
    app.DUE_SOURCES = app.DUE_MESSAGES = timedelta(seconds=PAUSE_SECONDS)  # type: ignore[misc]
    notifier._LEASE = timedelta(seconds=LEASE_SECONDS)  # type: ignore[misc]
    gateway._SECONDS = CALL_SECONDS  # type: ignore[misc]
    gateway._PATIENCE = 3.0  # type: ignore[misc]
    domain.TRIED_AGAIN_AFTER = tuple(timedelta(seconds=each) for each in RETRY_SECONDS)  # type: ignore[misc,assignment]
    domain.FAILING_TRIED_AFTER = timedelta(seconds=FAILING_SECONDS)  # type: ignore[misc]


def _fall(holds: Path) -> None:
    sent = Notifier._deliver

    async def at(place: str, self: Notifier, claimed: message_store.LeasedMessage) -> None:
        order, taken = holds / f"kill.{place}", holds / f"taken.{place}"
        if claimed.route.name == SPARED:
            return
        try:
            order.rename(taken)
        except FileNotFoundError:
            return
        while SPARED in self._sending:
            await asyncio.wait({self._sending[SPARED]})
        with (holds / "killed").open("a") as killed:
            killed.write(f"{place} {claimed.route.name}\n")
        os.kill(os.getpid(), signal.SIGKILL)

    async def falling(self: Notifier, claimed: message_store.LeasedMessage) -> str | None:
        await at(CLAIMED, self, claimed)
        remark = await sent(self, claimed)
        await at(SENT, self, claimed)
        return remark

    Notifier._deliver = falling  # type: ignore[method-assign]


# -- what is taken away, to show that somebody notices -----------------------------------------------------------------


def _stored() -> None:
    """A message counts as sent before it is."""
    send = Notifier.send

    async def counted_first(self: Notifier, claimed: message_store.LeasedMessage) -> None:
        async with self._database.transaction() as tx:
            await message_store.mark_sent(tx.connection, claimed, None)
        await send(self, claimed)

    Notifier.send = counted_first  # type: ignore[method-assign]


def _apart() -> None:
    """Routes are served one after the other."""

    async def in_turn(self: Notifier) -> None:
        async with self._database.transaction() as tx:
            claimed = await message_store.claim_message(
                tx.connection, timedelta(seconds=LEASE_SECONDS), busy=[]
            )
        if claimed is not None:
            await self._send_or_log(claimed)

    Notifier._start_sending = in_turn  # type: ignore[method-assign]


MUTATIONS: Final = {"stored": _stored, "apart": _apart}


if __name__ == "__main__":
    if mutation := os.environ.get("MUTATION"):
        MUTATIONS[mutation]()
    _hurry()
    _fall(Path(os.environ[HOLDS]))
    command_line("monitor", Settings, app.build)
