"""The settings of a brand, its pause and its erasure, beside a real orchestrator and in a real browser."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import eventually
from console.brand_settings import views

SETTINGS = "/b/acme/settings"
PASSWORD = "correct horse battery staple"
POLICY = {
    "name": "Acme",
    "channels": ["feed", "mastodon"],
    "targets": ["site", "company-blog"],
    "tone": "Dry.",
    "min_sources": 5,
    "forbidden_words": ["game-changer"],
    "quiet_hours": {"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"},
}


@pytest.fixture
async def acme(console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme", extra=POLICY)


async def form_of(client: httpx.AsyncClient, console: Any, **changes: str) -> dict[str, str]:
    """The browser's form: the fields as the page shows them, with these changes."""
    shown = (await client.get(SETTINGS)).text
    etag = shown.split('name="etag" value="', 1)[1].split('"', 1)[0].replace("&#34;", '"')
    fields = views.fields_of((await console.orchestrator.get_brand("acme"))["policy"], "UTC")
    return {
        "once": str(uuid4()),
        "etag": etag,
        **{f"was-{name}": value for name, value in fields.items()},
        **fields,
        **changes,
    }


@pytest.mark.extended
async def test_a_form_changes_what_was_typed_and_keeps_all_else(
    console: Any, acme: None, person: httpx.AsyncClient
) -> None:
    before = (await console.orchestrator.get_brand("acme"))["policy"]
    form = await form_of(person, console, tone="Warm.", words="800", targets="company-blog\nsite")
    saved, again = [await person.post(SETTINGS, data=form) for _ in range(2)]
    assert saved.headers["location"] == again.headers["location"] == f"{SETTINGS}?done=saved"
    after = (await console.orchestrator.get_brand("acme"))["policy"]
    assert after == before | {
        "tone": "Warm.",
        "words": 800,
        "target": "company-blog",
        "targets": ["company-blog", "site"],
    }
    cleared = await form_of(person, console, min_sources="", words="", quiet_begin="", quiet_end="")
    await person.post(SETTINGS, data=cleared)
    found = (await console.orchestrator.get_brand("acme"))["policy"]
    assert (found["min_sources"], found["words"], found["quiet_hours"]) == (3, None, None)


@pytest.mark.extended
async def test_what_another_person_changed_meanwhile_is_shown_and_nothing_is_lost(
    console: Any, acme: None, person: httpx.AsyncClient
) -> None:
    form = await form_of(person, console, tone="Warm.", description="Mine <i>.")
    changed = POLICY | {"tone": "Loud.", "articles_per_day": 7}
    await console.orchestrator.set_brand("acme", name="Acme", extra=changed)
    answer = await person.post(SETTINGS, data=form)
    assert answer.status_code == 412
    for told in (
        "Another person changed",
        "It was service,",
        "Loud.",
        "Warm.",
        "Mine &lt;i&gt;.",
        'value="7"',
    ):
        assert told in answer.text
    assert (await console.orchestrator.get_brand("acme"))["tone"] == "Loud."


@pytest.mark.extended
async def test_a_refused_form_keeps_what_was_typed(
    console: Any, acme: None, person: httpx.AsyncClient
) -> None:
    form = await form_of(person, console, words="many <b>", tone="Warm.")
    answer = await person.post(SETTINGS, data=form)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'value="many &lt;b&gt;"' in answer.text
    assert ">Warm.</textarea>" in answer.text


@pytest.mark.extended
async def test_a_brand_is_paused_and_resumed(console: Any, acme: None, person: httpx.AsyncClient) -> None:
    for _ in range(2):
        await person.post(f"{SETTINGS}/pause", data={"once": "p1"})
    assert (await console.orchestrator.get_brand("acme"))["paused_at"] is not None
    assert "The brand has been paused since" in (await person.get(SETTINGS)).text
    await person.post(f"{SETTINGS}/resume", data={"once": "p2"})
    assert (await console.orchestrator.get_brand("acme"))["paused_at"] is None


async def test_a_brand_that_moves_or_has_moved_says_where_to(
    console: Any, acme: None, person: httpx.AsyncClient
) -> None:
    orchestrator = console.orchestrator
    move = await orchestrator.begin_brand_move("acme", to="https://eu.example")
    shown = (await person.get(SETTINGS)).text
    assert "The brand is moving to another installation, https://eu.example, since" in shown
    assert f'action="{SETTINGS}/resume"' not in shown, "a button that is refused"
    for step in ("frozen", "imported", "handing_over", "moved"):
        await orchestrator.set_move_step("acme", move_id=move["move_id"], step=step)
    shown = (await person.get(SETTINGS)).text
    assert "The brand has moved to another installation, https://eu.example, at" in shown
    refused = await person.post(SETTINGS, data=await form_of(person, console, tone="Warm."))
    assert refused.status_code == 409
    assert "has moved to https://eu.example" in refused.text


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, signed_in_as: Any
) -> None:
    async with signed_in_as("Eve", "viewer", ["acme"]) as eve:
        assert (
            "the right “operate”, which your role (viewer) does not have"
            in (await eve.get("/b/acme/settings")).text
        )
        shown = (await eve.get(SETTINGS)).text
        assert "<fieldset disabled" in shown
        assert all(word not in shown for word in ("Save the settings", "Pause Acme", "Erase"))
        for path in ("", "/pause", "/resume", "/erase"):
            assert (await eve.post(SETTINGS + path, data={"once": "x"})).status_code == 403, path
    async with signed_in_as("Olga", "operator") as olga:
        assert "Erase" not in (await olga.get(SETTINGS)).text
        assert (
            await olga.post(f"{SETTINGS}/erase", data={"once": "x", "confirm": "Acme"})
        ).status_code == 403
        assert (await olga.get(f"{SETTINGS}/erase")).status_code == 403
    assert (await console.orchestrator.get_brand("acme"))["paused_at"] is None


async def add_note(connection: asyncpg.Connection, brand: str) -> None:
    await connection.execute(
        "insert into notes (id, brand, content_id, name, words) values ($1, $2, $3, 'Ada', 'hm')",
        uuid4(),
        brand,
        uuid4(),
    )


@pytest.mark.extended
async def test_notes_of_a_brand_that_was_erased_elsewhere_are_removed(
    console: Any, acme: None, person: httpx.AsyncClient
) -> None:
    connection = await asyncpg.connect(console.database_url)
    try:
        await add_note(connection, "acme")
        await console.orchestrator.erase_brand("acme", confirm="acme")
        assert "Remove its note" in (await person.get(f"{SETTINGS}/erase")).text
        await person.post(f"{SETTINGS}/erase", data={"once": "e1"})
        assert await connection.fetchval("select count(*) from notes") == 0
    finally:
        await connection.close()
    assert "Remove its note" not in (await person.get(f"{SETTINGS}/erase")).text


async def test_an_erasure_takes_the_name_and_the_password_and_removes_the_notes(
    console: Any, acme: None, person: httpx.AsyncClient, forget_passwords: Callable[[], Awaitable[None]]
) -> None:
    connection = await asyncpg.connect(console.database_url)
    try:
        for brand in ("acme", "rival"):
            await add_note(connection, brand)
        await forget_passwords()
        assert "1 note of the console" in (await person.get(f"{SETTINGS}/erase")).text
        asked = await person.post(f"{SETTINGS}/erase", data={"once": "e0", "confirm": "Acme"})
        assert asked.status_code == 403
        assert 'name="password_again"' in asked.text

        wrong = {"once": "e1", "confirm": "Akme", "password_again": PASSWORD}
        refused = await person.post(f"{SETTINGS}/erase", data=wrong)
        assert refused.status_code == 422
        assert 'value="Akme"' in refused.text
        assert (await console.orchestrator.get_brand("acme"))["name"] == "Acme"

        erased = [
            await person.post(f"{SETTINGS}/erase", data={"once": "e2", "confirm": "Acme"}) for _ in (1, 2)
        ]
        assert {each.headers["location"] for each in erased} == {f"{SETTINGS}/erase"}
        assert await connection.fetchval("select array_agg(brand) from notes") == ["rival"]
    finally:
        await connection.close()

    async def monitor_confirmed() -> str | None:
        shown = (await person.get(f"{SETTINGS}/erase")).text
        # The others are away.
        return shown if shown.count("Not yet") == len(views.SERVICES) - 2 else None

    shown = await eventually(monitor_confirmed)
    assert "Being erased" in shown
    assert "brands: 1" in shown


@pytest.mark.extended
async def test_a_person_saves_pauses_and_erases_in_a_browser(
    console: Any, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    name = "Acme <script>window.hit = 1</script>"
    await console.orchestrator.set_brand("acme", name=name, tone='"><img src=x onerror="window.hit = 1">')
    await look_at(page, SETTINGS)
    await page.fill("[name=words]", "900")
    await page.select_option("[name=approval]", "everything")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of").click()
    assert "The settings are saved." in await page.inner_text("main")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Pause Acme").click()
    found = await console.orchestrator.get_brand("acme")
    assert (found["words"], found["approval"], found["paused_at"] is not None) == (900, "everything", True)
    await look_at(page, f"{SETTINGS}/erase")
    await page.fill("[name=confirm]", name)
    async with page.expect_navigation():
        await page.get_by_role("button", name="for good").click()
    await eventually(lambda: page.get_by_role("row", name="monitor").is_visible())
    await look_at(page, f"{SETTINGS}/erase")
