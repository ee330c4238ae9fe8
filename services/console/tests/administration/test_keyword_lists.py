"""People with the right scopes pause, resume and end keywords that were submitted together."""

import re
from typing import Any

import httpx
import pytest

LIST = "/b/acme/keywords"


@pytest.fixture
async def cycle(console: Any) -> str:
    """Two keywords of the brand `acme`, which is paused, so that they wait for their turn."""
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.pause_brand("acme")
    accepted = await console.orchestrator.submit_keywords(
        "acme", b"cold brew\nmoka pot", content_type="text/plain"
    )
    return str(accepted["cycle_id"])


async def press(client: httpx.AsyncClient, cycle: str, verb: str, once: str = "") -> httpx.Response:
    path = f"{LIST}/cycles/{cycle}/{verb}"
    return await client.post(path, data={"once": once or verb}, follow_redirects=True)


async def test_a_list_is_paused_goes_on_and_is_ended(
    console: Any, cycle: str, person: httpx.AsyncClient
) -> None:
    shown = (await person.get(LIST)).text
    assert "Pause these 2 keywords" in shown
    assert "Go on with these 2 keywords" not in shown

    for _ in range(2):
        told = (await press(person, cycle, "pause")).text
        assert "The list is paused" in told
    assert (await console.orchestrator.get_cycle(cycle))["state"] == "paused"
    assert "Go on with these 2 keywords" in told
    assert "Pause these 2 keywords" not in told

    undo = re.search(r'action="(/undo/[^"]+)"', told)
    assert undo
    await person.post(undo[1], data={"once": "undone"})
    assert (await console.orchestrator.get_cycle(cycle))["state"] == "running"

    await press(person, cycle, "pause", "again")
    assert "The list goes on." in (await press(person, cycle, "resume")).text
    assert (await console.orchestrator.get_cycle(cycle))["state"] == "running"

    ended = (await press(person, cycle, "cancel")).text
    assert "What had not begun of the list is cancelled." in ended
    assert "/undo/" not in ended
    assert (await console.orchestrator.get_cycle(cycle))["state"] == "cancelled"
    assert (await press(person, cycle, "explode")).status_code == 404


@pytest.mark.extended
async def test_only_who_operates_the_brand_changes_a_list(
    console: Any, cycle: str, signed_in_as: Any
) -> None:
    await console.orchestrator.set_brand("other", name="Other")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator") as otto:
        shown = (await eve.get(LIST)).text
        assert "2 keywords of" in shown
        assert "the right “operate”, which your role (editor) does not have" in shown
        assert f"/cycles/{cycle}" not in shown
        for verb in ("pause", "resume", "cancel"):
            assert (await press(eve, cycle, verb)).status_code == 403
            elsewhere = await otto.post(f"/b/other/keywords/cycles/{cycle}/{verb}", data={"once": verb})
            assert elsewhere.status_code == 404
        assert "Pause these 2 keywords" in (await otto.get(LIST)).text
    assert (await console.orchestrator.get_cycle(cycle))["state"] == "running"


async def test_submitting_again_tells_what_was_submitted_and_what_was_not_and_why(
    console: Any, cycle: str, person: httpx.AsyncClient
) -> None:
    async def again(once: str, **form: str | list[str]) -> str:
        asked = {"once": once, "do": "again", "which": "chosen", **form}
        return (await person.post(f"{LIST}/many", data=asked, follow_redirects=True)).text

    first, second = f"{cycle}.1", f"{cycle}.2"
    nothing = await again("a", chosen=[first, second])
    assert "Nothing was submitted again." in nothing
    assert f'<a href="{LIST}/{first}">cold brew</a>: it waits for its turn already' in nothing

    await console.orchestrator.cancel_cycle(cycle)
    other = await console.orchestrator.submit_keywords("acme", b"tea", content_type="text/plain")
    told = await again("b", chosen=[first, second, f"{other['cycle_id']}.1"])
    assert "2 keywords are submitted again. They wait for their turn:" in told
    made = re.findall(rf'<li><a href="({LIST}/[^"]+)">(cold brew|moka pot)</a></li>', told)
    # Checked things are read side by side: in any order.
    new = {name: address for address, name in made}
    assert sorted(new) == ["cold brew", "moka pot"]
    assert "To one it was not done, and why:" in told
    assert ">tea</a>: it waits for its turn already" in told
    # The links lead to the new keywords, not to those that had ended.
    assert "Queued" in (await person.get(new["cold brew"])).text

    every = await again("c", which="all")
    assert "3 that match were left as they are: Queued 3." in every

    for _ in range(2):
        one = await person.post(f"{LIST}/{first}/again", data={"once": "d"}, follow_redirects=True)
        assert "“cold brew” is submitted again, and waits for its turn." in one.text
        assert first not in str(one.url)
    await console.orchestrator.cancel_cycle(new["cold brew"].rpartition("/")[2].partition(".")[0])
    late = await person.post(f"{LIST}/{other['cycle_id']}.1/again", data={"once": "e"}, follow_redirects=True)
    assert "Nothing was submitted again." in late.text
