"""The bound on sign-ups of one visitor: whom it stops, whom it does not, and what it leaves behind."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.datastructures import Address

from chassis import ServiceKey
from chassis.testing import serving
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.mailing.pages import visitor_network
from publisher.urls import SiteUrls

KEY = "test-service-key-0123456789"
PAGE = "/sites/daily-grind/newsletter/"
PER_HOUR = 10
OF_ONE = 2
"""A fifth."""
ADA, EVE = "203.0.113.7", "198.51.100.9"


@asynccontextmanager
async def publisher_behind(newsletter: Any, proxies: Sequence[str]) -> AsyncIterator[httpx.AsyncClient]:
    """A real server on this machine, whose client is the proxy, if there is one."""
    urls = SiteUrls.under("https://blog.example.org")
    sites = create_app(
        newsletter.database, urls, articles_per_page=5, sign_ups_per_hour=PER_HOUR, proxies=proxies
    )
    app = create_api(newsletter.database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    async with (
        serving(app, proxies=proxies) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client,
    ):
        yield client


async def sign_ups(client: httpx.AsyncClient, names: str, forwarded: str | None = None) -> list[int]:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return [
        (await client.post(PAGE, data={"address": f"{name}@a.example"}, headers=headers)).status_code
        for name in names
    ]


@pytest.mark.extended
async def test_one_visitor_cannot_use_up_what_the_others_need(newsletter: Any) -> None:
    async with publisher_behind(newsletter, ["127.0.0.1"]) as client:
        assert await sign_ups(client, "abcdefghij", EVE) == [303] * OF_ONE + [429] * 8
        refused = await client.post(PAGE, data={"address": "z@a.example"}, headers={"X-Forwarded-For": EVE})
        assert "from your network" in refused.text
        assert refused.headers["retry-after"] == "3600"
        # The same sentence for a known address as for a strange one.
        known = await client.post(PAGE, data={"address": "a@a.example"}, headers={"X-Forwarded-For": EVE})
        assert known.text.replace("a@a.example", "") == refused.text.replace("z@a.example", "")
        assert await sign_ups(client, "kl", ADA) == [303] * OF_ONE
        # Eve has a /64 of her own; another one is another visitor.
        assert await sign_ups(client, "mno", "2001:db8::1") == [303, 303, 429]
        assert await sign_ups(client, "o", "2001:db8::ffff") == [429]
        assert await sign_ups(client, "o", "2001:db8:0:1::1") == [303]


async def test_nobody_becomes_another_visitor_by_a_header(newsletter: Any) -> None:
    async with publisher_behind(newsletter, ["127.0.0.1"]) as client:
        # The proxy appends the address that it saw; what is left of it was sent by the visitor.
        told = [
            (await sign_ups(client, name, f"10.9.8.{number}, {EVE}"))[0] for number, name in enumerate("abcd")
        ]
        assert told == [303] * OF_ONE + [429] * 2


@pytest.mark.extended
@pytest.mark.parametrize("proxies", [[], ["127.0.0.1"]])
async def test_visitors_behind_a_proxy_that_tells_nothing_do_not_share_one_bound(
    newsletter: Any, proxies: list[str]
) -> None:
    async with publisher_behind(newsletter, proxies) as client:
        assert await sign_ups(client, "abcdefghijk") == [303] * PER_HOUR + [429]
        if not proxies:
            # Not believed, and no way around the bound of the brand.
            assert await sign_ups(client, "l", ADA) == [429]


@pytest.mark.extended
async def test_what_is_kept_is_no_address_and_is_forgotten_after_a_day(newsletter: Any) -> None:
    async with publisher_behind(newsletter, ["127.0.0.1"]) as client:
        assert await sign_ups(client, "abc", EVE) == [303, 303, 429]
        kept = await newsletter.rows("select * from newsletter_sign_ups")
        assert len(kept) == OF_ONE
        assert len({each["network_digest"] for each in kept}) == 1
        assert EVE not in str([dict(each) for each in kept])
        assert EVE.encode() not in kept[0]["network_digest"]
        await newsletter.rows("update newsletter_sign_ups set at = at - interval '61 minutes' returning at")
        assert await sign_ups(client, "c", EVE) == [303]
        await newsletter.rows("update newsletter_sign_ups set at = at - interval '1 day' returning at")
        await newsletter.sender.send_due()
        assert await newsletter.rows("select from newsletter_sign_ups") == []


@pytest.mark.parametrize(
    ("host", "proxies", "network"),
    [
        (EVE, (), None),
        (EVE, ("10.0.0.0/8",), EVE),
        ("10.1.2.3", ("10.0.0.0/8",), None),
        ("::1", ("10.0.0.0/8", "::1"), None),
        ("2001:db8::7", ("10.0.0.5",), "2001:db8::"),
        ("testclient", ("10.0.0.5",), None),
    ],
)
def test_a_network_is_a_visitor_only_where_it_is_sure(
    host: str, proxies: tuple[str, ...], network: str | None
) -> None:
    assert visitor_network(Address(host, 1), proxies) == network
    assert visitor_network(None, proxies) is None
