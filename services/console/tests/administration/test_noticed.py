"""Operators see the monitor's findings and mark those that they take care of."""

from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from envelope import new_event_id

LIST = "/notifications"


@pytest.fixture
async def noticed(console: Any, monitor_database_url: str) -> dict[str, UUID]:
    """A problem of `acme`, one of the installation, and one that is over."""
    await console.orchestrator.set_brand("acme", name="Acme")
    rows = {name: new_event_id() for name in ("acme", "all", "over")}
    connection = await asyncpg.connect(monitor_database_url)
    try:
        for name, brand in (("acme", "acme"), ("all", None), ("over", "acme")):
            await connection.execute(
                """
                insert into notifications (id, source, kind, brand_slug, key, severity, title, detail, command, link,
                                           count, is_event, resolved_at)
                values ($1, 'test', 'in_doubt', $2, $3, 'warning', $3, 'Nobody knows <b>it</b>.', 'brandctl', $4, 2, true,
                        case when $3 = 'over' then now() end)
                """,
                rows[name],
                brand,
                name,
                "javascript:alert(1)" if name == "acme" else "https://example.org/post",
            )
    finally:
        await connection.close()
    return rows


async def test_what_is_open_is_shown_and_taken_care_of(
    noticed: dict[str, UUID], person: httpx.AsyncClient
) -> None:
    shown = (await person.get(LIST)).text
    assert "I take care of it: acme" in shown
    assert "I take care of it: all" in shown
    assert "over" not in shown.split('id="noticed"')[1].split("<ul")[1].split("</ul>")[0]
    assert "Nobody knows &lt;b&gt;it&lt;/b&gt;." in shown
    assert "javascript:" not in shown

    path = f"{LIST}/noticed/{noticed['acme']}/acknowledge"
    for _ in range(2):
        told = (await person.post(path, data={"once": "a"}, follow_redirects=True)).text
        assert "You take care of it." in told
    assert "ada takes care of it" in told
    assert "I take care of it: acme" not in told
    assert "<strong>over</strong>" in (await person.get(f"{LIST}?over=1")).text
    unknown = await person.post(f"{LIST}/noticed/{new_event_id()}/acknowledge", data={"once": "u"})
    assert unknown.status_code == 404
    assert "There is no such notification" in unknown.text


@pytest.mark.extended
async def test_a_brands_operator_sees_the_brands_own_and_an_editor_none(
    noticed: dict[str, UUID], signed_in_as: Any
) -> None:
    async with signed_in_as("Otto", "operator", ["acme"]) as otto, signed_in_as("Eve", "editor") as eve:
        shown = (await otto.get(LIST)).text
        assert "I take care of it: acme" in shown
        assert "I take care of it: all" not in shown
        others = await otto.post(f"{LIST}/noticed/{noticed['all']}/acknowledge", data={"once": "o"})
        assert others.status_code == 404
        assert (await eve.get(LIST)).status_code == 403
        path = f"{LIST}/noticed/{noticed['acme']}/acknowledge"
        assert (await eve.post(path, data={"once": "e"})).status_code == 403
        assert "I take care of it: acme" in (await otto.get(LIST)).text
