"""Connects accounts of the channels and kinds of sites that fakes play here."""

from typing import Final

import httpx

from fakes import Fake
from fakes.serving.cases import EffectPlace

KEY: Final = "a-key-for-tests-only"
FILES: Final = "files"
"""A place that needs no account: a git repository."""
_UNLIMITED: Final = {"per_minute": 100_000, "together": 1000, "at_once": 100}


async def connect(
    api: httpx.AsyncClient, place: EffectPlace, fake: Fake, *, name: str | None = None, brand: str = "acme"
) -> None:
    name = name or place.channel
    body = {
        "kind": place.account_kind,
        "brands": [brand],
        "settings": {**_UNLIMITED, **place.settings(fake)},
        "credentials": dict(place.credentials(fake)),
    }
    answer = await api.put(f"/v1/accounts/{name}", json=body)
    assert answer.is_success, f"{name}: {answer.text}"
    checked = await api.post(f"/v1/accounts/{name}/check")
    assert checked.json()["state"] in {"ok", "unchecked"}, f"{name}: {checked.text}"
