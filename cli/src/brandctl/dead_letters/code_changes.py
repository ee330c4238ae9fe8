"""Whether the code in which messages failed has changed since: what they carry, beside what their services run now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brandctl.errors import CommandError
from client.connections import Service
from client.errors import ClientError
from client.pages import read_if_known


@dataclass(slots=True)
class PresentCode:
    """The code that services run now; each is asked once."""

    services: Sequence[Service]
    _known: dict[str, str | None] = field(default_factory=dict)

    def of(self, service: str | None) -> str | None:
        """The hash of the source that the service runs; None if it does not say."""
        asked = next((each for each in self.services if each.service == service), None)
        if asked is None or service is None:
            return None
        if service not in self._known:
            call: Any = asked
            try:
                answer = read_if_known(call.get_backbone)
            except (ClientError, CommandError):
                answer = None
            self._known[service] = None if answer is None else answer.get("code")
        return self._known[service]


def count_code(codes: Iterable[Mapping[str, Any]], total: int, present: PresentCode) -> dict[str, Any]:
    """How many of `total` failures ran code that has `changed` since, and the `same` as now; `away` do not say."""
    counts: dict[str, Any] = {"changed": 0, "same": 0}
    away = set[str]()
    for each in codes:
        now = present.of(each["service"])
        if now is not None:
            counts["same" if each["code"] == now else "changed"] += each["count"]
        elif each["service"]:
            away.add(each["service"])
    unknown = total - counts["changed"] - counts["same"]
    return {**counts, "unknown": unknown, "away": sorted(away)}


def code_since(letter: Mapping[str, Any], present: PresentCode) -> str | None:
    """Whether the code in which the letter failed has `changed` since, or is the `same`; None if that is not known."""
    now = present.of(letter["service"]) if letter.get("code") else None
    if now is None:
        return None
    return "same" if letter["code"] == now else "changed"


def in_words(counts: Mapping[str, Any]) -> str:
    """One sentence; empty if nothing is known of the code."""
    total = counts["changed"] + counts["same"] + counts["unknown"]
    if not (counts["changed"] or counts["same"] or counts["away"]):
        return ""
    parts = [f"{counts['changed']:,} of {total:,} failures ran code that has changed since"]
    if counts["unknown"]:
        parts.append(f"{counts['unknown']:,} not known")
    if counts["away"]:
        parts.append(f"{', '.join(counts['away'])} does not answer")
    return "; ".join(parts)
