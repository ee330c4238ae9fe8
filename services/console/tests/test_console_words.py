"""The lists and forms of the console in each language, with hostile words, while most services are away."""

from typing import Any, Final

import httpx
import pytest

from console.texts import LANGUAGES
from tests.fixtures.console.screens import Screens, page_routes
from tests.fixtures.console.words import faults_of_words

HOSTILE: Final = 'Acme "><img src=x onerror=__hit=1>x{{7*7}}x'
SIGNED_OUT: Final = frozenset({"/sign-in", "/recover", "/start/{token}", "/invitations/{token}"})
PLANTED: Final = ("<img src=x", "x49x")
AWAY: Final = ("502", "503", "504")


@pytest.mark.extended
async def test_words_are_the_readers_and_nothing_is_planted_while_services_are_away(
    console: Any, person: httpx.AsyncClient
) -> None:
    await console.orchestrator.set_brand("acme", name=HOSTILE, description=HOSTILE, approval="everything")
    await console.orchestrator.submit_keywords("acme", HOSTILE.encode(), content_type="text/plain")
    faults = []
    for language in LANGUAGES:
        await person.post("/me", data={"language": language, "zone": "Europe/Berlin", "once": language})
        screens = Screens(page_routes(console.pages) - SIGNED_OUT)
        await screens.crawl(person, {"brand": "acme"}, ["/"])
        pages = {
            at: each.text for at, each in screens.texts.items() if each.text.startswith("<!DOCTYPE html>")
        }
        assert len(pages) > 30
        faults += [f"{at}: {each}" for at, page in pages.items() for each in faults_of_words(page, language)]
        faults += [f"{at}: {each}" for at, page in pages.items() for each in PLANTED if each in page]
        faults += [each for each in screens.broken if not each.endswith(AWAY)]
    assert not faults, "\n".join(faults)
