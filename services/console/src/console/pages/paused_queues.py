"""The paused queues of all services, for a line on every page; each service is asked at most every few seconds."""

import asyncio
import math
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from chassis.tasks import cancel_all
from client import ClientError
from client.message_services import MESSAGE_SERVICES
from console.service_clients import PersonClients

_GOOD_FOR_SECONDS: Final = 5.0
_SHOWN_FOR_SECONDS: Final = 30.0
"""A page shows an answer of that age, and has it renewed for the next one; it waits for what is older."""
_WAIT_SECONDS: Final = 0.3
"""A page waits at most so long, and only for services that answered the last time."""


class PausedQueue(NamedTuple):
    service: str
    queue: str
    by: str
    reason: str
    since: datetime


class PausedQueues:
    """What the services said last, for all people who may see the backbone: it is the same for all of them.

    A service that is away keeps its last answer, and delays no page.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: dict[str, tuple[PausedQueue, ...]] = {}
        self._ask_at: dict[str, float] = {}
        self._answered_at: dict[str, float] = {}
        self._silent: set[str] = set()
        """Services whose last request failed."""
        self._reading: dict[str, asyncio.Task[None]] = {}

    async def read(self, clients: PersonClients) -> tuple[PausedQueue, ...]:
        """Returns the paused queues by service; what is older than a few seconds is asked for, with the person's key."""
        waited = [
            self._begin(service, clients)
            for service in MESSAGE_SERVICES
            if service not in self._reading and self._clock() >= self._ask_at.get(service, 0.0)
        ]
        if begun := [task for task in waited if task is not None]:
            await asyncio.wait(begun, timeout=_WAIT_SECONDS)
        return tuple(each for service in MESSAGE_SERVICES for each in self._found.get(service, ()))

    def _begin(self, service: str, clients: PersonClients) -> asyncio.Task[None] | None:
        """Asks a service in the background; returns the task if the page is to wait for it."""
        task = asyncio.create_task(self._ask(service, clients.alone()), name=f"paused queues of {service}")
        self._reading[service] = task
        task.add_done_callback(lambda done: self._forget_task(service, done))
        is_new_enough = self._clock() < self._answered_at.get(service, -math.inf) + _SHOWN_FOR_SECONDS
        return None if is_new_enough or service in self._silent else task

    def _forget_task(self, service: str, task: asyncio.Task[None]) -> None:
        if self._reading.get(service) is task:
            del self._reading[service]

    async def _ask(self, service: str, clients: PersonClients) -> None:
        try:
            answer = await getattr(clients, service).get_pauses()
        except ClientError:
            self._silent.add(service)
        else:
            self._silent.discard(service)
            self._answered_at[service] = self._clock()
            self._found[service] = tuple(
                PausedQueue(
                    service, each["queue"], each["by"], each["reason"], datetime.fromisoformat(each["since"])
                )
                for each in answer["queues"]
            )
        self._ask_at[service] = self._clock() + _GOOD_FOR_SECONDS

    def forget(self, service: str) -> None:
        """Has the next page ask the service again, as after a pause was begun or ended."""
        self._ask_at.pop(service, None)
        self._answered_at.pop(service, None)
        if task := self._reading.pop(service, None):
            # Its answer may be of before.
            task.cancel()

    async def aclose(self) -> None:
        """Ends what is being asked."""
        await cancel_all(self._reading.values())
