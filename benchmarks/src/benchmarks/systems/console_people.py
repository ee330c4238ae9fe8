"""People of the console, signed in the usual way: with a link and a password."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.systems.stack import Stack
from console.people.domain import SCOPES, Role

_PASSWORD: Final = "correct horse battery staple"  # noqa: S105  (of people who live as long as the run)
_PER_MINUTE: Final = 6_000


@dataclass(frozen=True, slots=True)
class SignedIn:
    name: str
    cookie: str
    """The header that a browser sends."""


def sign_in(services: Stack, name: str, role: Role, brands: Sequence[str] | None) -> SignedIn:
    """Invites a person and accepts the invitation."""
    url = services.addresses.url("console")
    with services.client("orchestrator") as keys, services.client("console") as people:
        key = _answered(
            keys.post(
                "/v1/keys",
                json={
                    "name": name.lower().replace(" ", "-"),
                    "scopes": sorted(SCOPES[role]),
                    "brands": brands,
                    "per_minute": _PER_MINUTE,
                },
            )
        )["key"]
        invitation = {"name": name, "role": role, "brands": brands, "key": key}
        link = _answered(people.post("/v1/people/invitations", json=invitation))["url"]
    with httpx.Client(base_url=url, headers={"Origin": url}, timeout=60, trust_env=False) as browser:
        answer = browser.post(urlsplit(link).path, data={"name": name, "password": _PASSWORD})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise MeasurementError(f"{name} cannot sign in: {answer.status_code}")
        return SignedIn(name, "; ".join(f"{name}={value}" for name, value in browser.cookies.items()))


def _answered(answer: httpx.Response) -> dict[str, str]:
    if answer.is_error:
        raise MeasurementError(f"{answer.request.url.path} answers {answer.status_code}: {answer.text[:500]}")
    found: dict[str, str] = answer.json()
    return found
