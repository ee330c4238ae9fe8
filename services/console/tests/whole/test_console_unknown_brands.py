"""An address with a brand that does not exist says so on every page, instead of looking like a brand without anything."""

import re
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from tests.fixtures.console.screens import page_routes

ERASURE: Final = "/b/{brand}/settings/erase"
"""It says how far an erasure is when the brand is no more."""


@pytest.mark.extended
async def test_no_page_of_a_brand_that_does_not_exist_looks_like_an_empty_brand(
    console: Any,
    stack: Any,
) -> None:
    routes = {each for each in page_routes(console.pages) if "{brand}" in each} - {ERASURE}
    assert len(routes) > 50
    async with httpx.AsyncClient(
        base_url=console.url,
        headers={"Origin": console.url, "Accept-Language": "en"},
        timeout=60,
        trust_env=False,
    ) as person:
        link = await console.invite("ada", "owner")
        await person.post(urlsplit(link).path, data={"name": "Ada", "password": "a long enough password"})
        for each in sorted(routes):
            address = re.sub(r"\{\w+\}", str(uuid4()), each.replace("{brand}", "no-such-brand"))
            answer = await person.get(address)
            assert answer.status_code == 404, f"{each}: {answer.status_code}"
            assert "There is no brand “no-such-brand” that you may see." in answer.text, each
            assert 'class="screens"' not in answer.text, "the bar of a brand that does not exist"
