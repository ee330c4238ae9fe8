"""The gateway answers every request that its document allows as the document says."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chassis.testing import serving
from tests.fixtures.gateways import gateway_before
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz
from tests.fixtures.providers import FakeBrave, FakeModel
from tests.fixtures.sites import Names, Site, answer

PROVIDER_KEY = "a-providers-key-0123456789"


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_gateway_is_as_documented(
    make_database: Callable[[str], Awaitable[str]],
    names: Names,
    public: Site,
    tmp_path: Path,
    thorough: bool,
) -> None:
    names.mean("site.example", public)
    public.pages["/"] = answer(b"<p>Grind it coarsely.</p>")
    async with (
        gateway_before(names, await make_database("gateway")) as api,
        serving(FakeBrave({PROVIDER_KEY})) as brave,
        serving(FakeModel({PROVIDER_KEY})) as model,
    ):
        quick = {"per_minute": 60_000, "together": 100}
        writer = {"url": f"{model}/v1", "model": "small-1", "read_price": "0.15", "written_price": "0.60"}
        kinds = {"brave": {"url": brave, "price": "0.005"}, "model": writer}
        accounts = {f"{kind}-{number}": kind for kind in kinds for number in range(10)}
        for name, kind in accounts.items():
            body = {"kind": kind, "settings": kinds[kind] | quick, "key": PROVIDER_KEY}
            (await api.put(f"/v1/providers/{name}", json=body)).raise_for_status()
        posting = {"url": "http://127.0.0.1:9", "per_minute": 60_000, "together": 1000}
        body = {
            "kind": "mastodon",
            "brands": ["*"],
            "settings": posting,
            "credentials": {"token": PROVIDER_KEY},
        }
        for name in accounts:
            (await api.put(f"/v1/accounts/{name}", json=body)).raise_for_status()
        known = {
            "path.name": list(accounts),
            "path.scope": ["*", "acme"],
            "query.brand": ["acme"],
            "query.url": ["https://site.example/", "http://site.example/nowhere"],
            "header.X-Brand": ["acme"],
            "body.brand": ["acme"],
            "body.model": list(accounts),
            "body.provider": list(accounts),
        }
        await fuzz(
            api,
            tmp_path,
            known=known,
            thorough=thorough,
            unreached=[
                "POST /v1/accounts/{name}/rotate",  # by then, those that are known are disconnected
                "GET /v1/sign-in",  # no identity provider is set
                *(
                    f"{each}"
                    for each in (
                        "PUT /v1/account-moves/{move_id}",
                        "POST /v1/account-moves/{move_id}/handover",
                        "POST /v1/account-moves/{move_id}/accounts",
                    )
                ),
            ],
        )
