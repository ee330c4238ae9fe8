"""Clients of Prometheus and Alertmanager, at addresses that the operator has set."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from chassis.http.client import JsonAnswer, Peer, ServiceClient, UnusableAnswerError
from monitor.alerts import domain
from monitor.alerts.domain import Alert, Matcher, Rule, Silence

_SECONDS: Final = 5.0
_MAX_BYTES: Final = 8_000_000
_STRANGE: Final = (KeyError, TypeError, ValueError, AttributeError)


class SilenceRefusedError(Exception):
    """Alertmanager does not take the silence; the text says why."""


class _Client:
    def __init__(self, peer: Peer, *, seconds: float = _SECONDS) -> None:
        self.name = peer.name
        self._http = ServiceClient(peer, timeout_seconds=seconds, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _read(self, path: str, about: str) -> Any:
        answer = await self._http.get(path, about=about)
        assert isinstance(answer, JsonAnswer), "no entity tag was sent"
        try:
            return json.loads(answer.body)
        except ValueError as error:
            raise UnusableAnswerError(f"{self.name} answers no JSON about {about}") from error

    def _strange(self, about: str, error: Exception) -> UnusableAnswerError:
        return UnusableAnswerError(f"{self.name} tells of {about} in an unknown form: {error!r}"[:300])


class PrometheusClient(_Client):
    async def rules(self) -> tuple[list[Rule], list[Alert]]:
        """Reads the alerting rules, and the alerts of them that fire.

        Raises:
            chassis.http.client.PassingError: Prometheus does not answer.
            UnusableAnswerError: it answers something else.
        """
        told = await self._read("/api/v1/rules?type=alert", "rules")
        try:
            return domain.rules_of_prometheus(told)
        except _STRANGE as error:
            raise self._strange("rules", error) from error


class AlertmanagerClient(_Client):
    """Each method raises PassingError and UnusableAnswerError, as `PrometheusClient.rules` does."""

    async def alerts(self) -> list[Alert]:
        told = await self._read("/api/v2/alerts", "alerts")
        try:
            return domain.alerts_of_alertmanager(told)
        except _STRANGE as error:
            raise self._strange("alerts", error) from error

    async def silences(self) -> list[Silence]:
        """Returns all that are not over, those that end first in front."""
        told = await self._read("/api/v2/silences", "silences")
        return [each for each in self._silences(told) if each.state != "expired"]

    def _silences(self, told: Sequence[Mapping[str, Any]]) -> list[Silence]:
        try:
            return sorted(map(Silence.read, told), key=lambda each: each.ends_at)
        except _STRANGE as error:
            raise self._strange("silences", error) from error

    async def silence(
        self, matchers: Sequence[Matcher], starts_at: datetime, ends_at: datetime, *, by: str, reason: str
    ) -> str:
        """Adds a silence, or changes the present one of the same matchers; returns its id.

        Raises:
            SilenceRefusedError: Alertmanager refuses it.
        """
        present = next((each for each in await self.silences() if set(each.matchers) == set(matchers)), None)
        body: dict[str, Any] = {
            "matchers": [each.as_json() for each in matchers],
            "startsAt": (starts_at if present is None else present.starts_at).isoformat(),
            "endsAt": ends_at.isoformat(),
            "createdBy": by,
            "comment": reason,
        }
        if present is not None:
            body["id"] = present.id
        reply = await self._http.ask("POST", "/api/v2/silences", json=body)
        made = reply.document.get("silenceID")
        if reply.status != HTTPStatus.OK or not isinstance(made, str):
            raise SilenceRefusedError(_said(reply.body, reply.status))
        return made

    async def find_silence(self, silence: UUID) -> Silence | None:
        """Returns a silence, also one that is over; None if there is none."""
        told = await self._read("/api/v2/silences", "silences")
        return next((each for each in self._silences(told) if each.id == str(silence)), None)

    async def end_silence(self, silence: UUID) -> None:
        """Raises SilenceRefusedError: Alertmanager refuses it."""
        reply = await self._http.ask("DELETE", f"/api/v2/silence/{quote(str(silence))}")
        if reply.status != HTTPStatus.OK:
            raise SilenceRefusedError(_said(reply.body, reply.status))


def _said(body: bytes, status: int) -> str:
    return f"Alertmanager answered {status}: {body.decode(errors='replace')[:300]}"
