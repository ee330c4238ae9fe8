"""A refused form is answered at its own address: who reloads there, or comes back to it, gets the page above."""

import re
from typing import Any

import httpx
import pytest

from tests.fixtures.console.screens import page_routes, posts_of


@pytest.mark.extended
@pytest.mark.parametrize(
    ("address", "above"),
    [
        ("/sign-out", "/"),
        ("/people/invite", "/people"),
        ("/providers/model/check", "/providers"),
        ("/b/acme/money/caps", "/b/acme/money"),
        ("/b/acme/sources/folder/7/release", "/b/acme/sources/folder"),
        ("/b/acme/posts/many", "/b/acme/posts"),
        ("/b/acme/keywords/many", "/b/acme/keywords"),
        ("/b/acme/drafts/decide", "/b/acme/drafts"),
        ("/b/acme/drafts/looked", "/b/acme/drafts"),
        ("/b/acme/posts/01/edit", "/b/acme/posts/01"),
        ("/b/acme/calendar/posts/01/move", "/b/acme/calendar"),
        ("/b/acme/schedules/weekly/pause", "/b/acme/schedules/weekly"),
    ],
)
async def test_the_address_of_a_form_leads_to_the_page_above_it(
    console: Any, person: httpx.AsyncClient, address: str, above: str
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    answer = await person.get(address)
    assert (answer.status_code, answer.headers["location"]) == (303, above)


@pytest.mark.extended
async def test_no_form_of_any_screen_has_an_address_that_cannot_be_reloaded(
    console: Any, person: httpx.AsyncClient
) -> None:
    forms = posts_of(console.pages) - page_routes(console.pages)
    assert len(forms) > 50
    for form in sorted(forms):
        answer = await person.get(re.sub(r"\{\w+\}", "1", form))
        assert answer.status_code != 405, form


async def test_any_other_method_is_still_refused(person: httpx.AsyncClient) -> None:
    assert (await person.delete("/people")).status_code == 405
