"""What people and operators do in a working day: each act is short, and is done again after a pause."""

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import httpx

from benchmarks.servers.queues import Queues
from benchmarks.systems.console_people import SignedIn
from benchmarks.systems.stack import KEYWORDS, Stack

_KEPT_BRANDS: Final = 40
"""Older ones are erased, so that a long day has no more data than a short one."""
_OF_A_BRAND: Final = 4
"""Keywords that a new brand hands in."""
_VERBS: Final = ("approve", "approve", "approve", "approve", "reject")
_SEED: Final = 20_262


@dataclass(frozen=True, slots=True)
class Activity:
    name: str
    every_seconds: float
    act: Callable[[], int]
    """Does it once, and returns how many things it did."""


@dataclass
class WorkingDay:
    """The people of an installation."""

    services: Stack
    owner: SignedIn
    _random: random.Random = field(default_factory=lambda: random.Random(_SEED))
    _brands: deque[str] = field(default_factory=deque)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _clients: dict[str, httpx.Client] = field(default_factory=dict)

    def activities(self) -> tuple[Activity, ...]:
        return (
            Activity("brands are set up and hand keywords in", 6.0, self._hand_in),
            Activity("drafts are approved or rejected", 4.0, self._review),
            Activity("schedules fire", 11.0, self._fire_schedule),
            Activity("brands are audited", 23.0, self._audit),
            Activity("messages are spoilt", 19.0, self._spoil),
            Activity("dead letters are replayed or discarded", 29.0, self._resolve),
            Activity("keys are made, rotated and revoked", 17.0, self._rotate_key),
            Activity("pages of the console are opened", 1.5, self._open_pages),
            Activity("pages of the sites are read", 1.0, self._read_sites),
            Activity("old brands are erased", 9.0, self._erase),
        )

    def close(self) -> None:
        for each in self._clients.values():
            each.close()

    def _of(self, service: str) -> httpx.Client:
        if service not in self._clients:
            self._clients[service] = self.services.client(service)
        return self._clients[service]

    def _call(self, service: str, method: str, path: str, **more: Any) -> Any:
        answer = self._of(service).request(method, path, **more)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def _hand_in(self) -> int:
        brand = f"brand-{next(self._numbers):06d}"
        settings = {"name": brand, "approval": self._random.choice(("everything", "nothing"))}
        self._call("orchestrator", "PUT", f"/v1/brands/{brand}", json=settings)
        self._brands.append(brand)
        keywords = self._random.sample(KEYWORDS, _OF_A_BRAND)
        self._call(
            "orchestrator", "PUT", f"/v1/brands/{brand}/schedules/weekly",
            json={"keywords": keywords[:1], "cron": "0 9 * * 1", "refresh": True},
        )  # fmt: skip
        self._call("orchestrator", "POST", f"/v1/brands/{brand}/research", json={"keywords": keywords})
        return len(keywords)

    def _review(self) -> int:
        found = self._call("orchestrator", "GET", "/v1/drafts", params={"state": "waiting", "limit": 10})
        for draft in found["items"]:
            verb = self._random.choice(_VERBS)
            body = {"version": draft["version"], **({} if verb == "approve" else {"reason": "not our tone"})}
            answer = self._of("orchestrator").post(f"/v1/drafts/{draft['content_id']}/{verb}", json=body)
            # Its brand may be erased meanwhile, or it has just been written anew.
            if answer.status_code not in {
                httpx.codes.OK,
                httpx.codes.NOT_FOUND,
                httpx.codes.GONE,
                httpx.codes.CONFLICT,
            }:
                answer.raise_for_status()
        return len(found["items"])

    def _some_brand(self) -> str | None:
        return self._random.choice(self._brands) if self._brands else None

    def _fire_schedule(self) -> int:
        if (brand := self._some_brand()) is None:
            return 0
        self._call("orchestrator", "POST", f"/v1/brands/{brand}/schedules/weekly/run")
        return 1

    def _audit(self) -> int:
        if (brand := self._some_brand()) is None:
            return 0
        answer = self._of("orchestrator").post(f"/v1/brands/{brand}/audits")
        if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
            answer.raise_for_status()
        return 1

    def _spoil(self) -> int:
        service = self._random.choice(("research", "publisher", "social"))
        # A connection of its own each time: nothing would answer the broker between two of them.
        with Queues(self.services.rabbitmq_url) as queues:
            queues.put(f"{service}-commands", b'{"event_id": "%s", "type": ' % str(uuid4()).encode())
        return 1

    def _resolve(self) -> int:
        found = self._call("monitor", "GET", "/v1/dead-letters", params={"state": "open", "limit": 20})
        for letter in found["items"]:
            path = f"/v1/dead-letters/{letter['id']}"
            if letter["replayable"] and self._random.choice((True, False)):
                self._call("monitor", "POST", f"{path}/replay", json={"reason": "try again"})
            else:
                self._call("monitor", "POST", f"{path}/discard", json={"reason": "was spoilt"})
        return len(found["items"])

    def _rotate_key(self) -> int:
        made = self._call(
            "orchestrator", "POST", "/v1/keys", json={"name": f"soak-{uuid4().hex[:8]}", "scopes": ["read"]}
        )
        path = f"/v1/keys/{made['about']['key_id']}"
        self._call("orchestrator", "POST", f"{path}/rotate", json={})
        self._call("orchestrator", "DELETE", path)
        return 1

    def _open_pages(self) -> int:
        paths = ["/", "/messages", "/backbone", "/money", "/chains"]
        if (brand := self._some_brand()) is not None:
            paths += [
                f"/b/{brand}{each}"
                for each in ("", "/keywords", "/drafts", "/articles", "/posts", "/calendar")
            ]
        path = self._random.choice(paths)
        answer = self._of("console").get(path, headers={"Cookie": self.owner.cookie})
        if answer.status_code != httpx.codes.NOT_FOUND:  # its brand is erased
            answer.raise_for_status()
        return 1

    def _read_sites(self) -> int:
        if (brand := self._some_brand()) is None:
            return 0
        for path in (f"/sites/{brand}/", f"/sites/{brand}/feed.xml", f"/sites/{brand}/sitemap.xml"):
            answer = self._of("publisher").get(path)
            if answer.status_code not in {httpx.codes.NOT_FOUND, httpx.codes.GONE}:
                answer.raise_for_status()
        return 3

    def _erase(self) -> int:
        erased = 0
        while len(self._brands) > _KEPT_BRANDS:
            brand = self._brands.popleft()
            self._call("orchestrator", "POST", f"/v1/brands/{brand}/erase", json={"confirm": brand})
            erased += 1
        return erased
