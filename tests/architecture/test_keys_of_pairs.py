"""The key that one service asks another with opens what it reads there, and nothing else anywhere: what leaks with it is that much."""

import importlib
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from brandctl.local import services
from envelope.brand import PAIRS
from tests.architecture.test_every_route_names_its_scope import SETTINGS, routes_of

LEDGER = {"GET /v1/messages/sent", "GET /v1/messages/outcomes", "GET /v1/backbone/pauses"}
WHOSE_A_KEY_IS = "GET /v1/keys/{key_id}/introspection"
OPENS = {
    ("orchestrator", "research"): {"GET /v1/research", "GET /v1/research/{research_id}"},
    ("orchestrator", "gateway"): {
        "POST /v1/chat/completions",
        "GET /v1/models",
        "GET /v1/pages/answer",
        "GET /v1/accounts",
        "PUT /v1/erasures/{erasure_id}",
    },
    ("research", "gateway"): {"POST /v1/search", "POST /v1/chat/completions", "GET /v1/pages"},
    ("publisher", "gateway"): {
        "GET /v1/accounts",
        "POST /v1/accounts/{name}/mail",
        "POST /v1/accounts/{name}/requests",
        "POST /v1/accounts/{name}/fences",
        "GET /v1/pages",
    },
    ("social", "gateway"): {
        "GET /v1/accounts",
        "POST /v1/accounts/{name}/requests",
        "POST /v1/accounts/{name}/fences",
    },
    ("monitor", "gateway"): {
        "GET /v1/accounts",
        "POST /v1/accounts/{name}/requests",
        "POST /v1/accounts/{name}/mail",
        "GET /v1/spend",
    },
    ("events", "gateway"): {"GET /v1/accounts", "POST /v1/accounts/{name}/requests"},
    ("research", "orchestrator"): {WHOSE_A_KEY_IS},
    ("publisher", "orchestrator"): {
        "GET /v1/content",
        "GET /v1/content/{content_id}",
        "GET /v1/content/{content_id}/versions/{version}",
        WHOSE_A_KEY_IS,
    },
    ("social", "orchestrator"): {
        "GET /v1/brands/{slug}",
        "GET /v1/content/{content_id}",
        WHOSE_A_KEY_IS,
    },
    ("events", "orchestrator"): {"POST /v1/messages", WHOSE_A_KEY_IS},
    ("gateway", "orchestrator"): {WHOSE_A_KEY_IS},
    ("monitor", "orchestrator"): {"GET /v1/activity", *LEDGER, WHOSE_A_KEY_IS},
    ("monitor", "social"): {"GET /v1/receipts", "GET /v1/activity", *LEDGER},
    ("monitor", "publisher"): {"GET /v1/receipts", *LEDGER},
    ("monitor", "research"): LEDGER,
    ("monitor", "events"): {"GET /v1/webhooks", *LEDGER},
}
KEYS = {pair: f"{number}-of-{'-and-'.join(pair)}-7Kq" for number, pair in enumerate(OPENS)}
FORMER = "formerly-shared-by-both-9Zx"


def setting(pair: tuple[str, str]) -> str:
    return f"{pair[0]}_to_{pair[1]}_key"


def served_by(service: str, folder: Path, **settings: str) -> Any:
    root = importlib.import_module(f"{service}.app")
    made = importlib.import_module(f"{service}.settings").Settings(**SETTINGS | settings, corpus=folder)
    process: Any = root.GatewayApp(made) if service == "gateway" else root.build(made)
    return process._app


def own_keys(service: str) -> dict[str, str]:
    return {setting(pair): f"{KEYS[pair]},{FORMER}" for pair in OPENS if service in pair}


def test_these_are_the_pairs_that_are_set_up() -> None:
    assert set(PAIRS) == set(OPENS)


@pytest.mark.extended
@pytest.mark.parametrize("service", services.PROCESSES)
async def test_a_pairs_key_opens_what_is_read_with_it_and_nothing_else(service: str, tmp_path: Path) -> None:
    app = served_by(service, tmp_path, **own_keys(service))
    opened: dict[tuple[str, str], set[str]] = {pair: set() for pair in OPENS}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
        for (method, path), (pair, key) in product(routes_of(app), KEYS.items()):
            # Nothing is connected: what is let in ends in another refusal.
            answer = await http.request(method.upper(), path, headers={"X-Service-Key": key})
            if answer.status_code not in {401, 403}:
                opened[pair].add(f"{method.upper()} {path}")
            elif pair[1] != service:
                assert answer.status_code == 401, (method, path, pair)
    assert opened == {pair: OPENS[pair] if pair[1] == service else set() for pair in OPENS}


@pytest.mark.extended
@pytest.mark.parametrize("pair", OPENS)
async def test_two_keys_of_a_pair_open_during_a_change(pair: tuple[str, str], tmp_path: Path) -> None:
    app = served_by(pair[1], tmp_path, **own_keys(pair[1]))
    method, path = min(OPENS[pair]).split(" ")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
        for key in (KEYS[pair], FORMER, SETTINGS["service_key"]):
            answer = await http.request(method, path, headers={"X-Service-Key": key})
            assert answer.status_code not in {401, 403}
        unknown = await http.request(method, path, headers={"X-Service-Key": "neither-of-the-two-1a"})
        assert unknown.status_code == 401
