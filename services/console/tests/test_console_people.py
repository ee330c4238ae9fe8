"""Only owners invite and remove people."""

import re
from typing import Any

import asyncpg
import httpx
import pytest

PASSWORD = "correct horse battery staple"


@pytest.mark.extended
async def test_an_invited_viewer_sees_no_people_and_is_out_once_removed(
    console: Any, person: httpx.AsyncClient
) -> None:
    form = {"once": "one", "name": "Bob", "role": "viewer"}
    shown = [await person.post("/people/invite", data=form) for _ in range(2)]
    assert shown[0].text == shown[1].text
    found = re.search(r"/invitations/[\w-]+", shown[0].text)
    assert found, shown[0].text
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as bob:
        accepted = await bob.post(found[0], data={"name": "Bob", "password": PASSWORD})
        assert accepted.status_code == 303
        assert (await bob.get("/people")).status_code == 403
        assert (await bob.post("/people/invite", data=form)).status_code == 403
        assert (
            await person.post("/people/invite", data={**form, "name": "Bob!", "once": "again"})
        ).status_code == 200
        (made, again) = [
            each["name"]
            for each in reversed((await console.orchestrator.list_keys())["items"])
            if each["name"].startswith("bob")
        ]
        assert min((made, again), key=len) == "bob"
        people = (await console.api.get("/v1/people")).json()["items"]
        (bob_id,) = [each["id"] for each in people if each["name"] == "Bob"]
        ends = [await person.post(f"/people/{bob_id}/end-sessions", data={"once": "ends"}) for _ in range(2)]
        assert [each.status_code for each in ends] == [303, 303]
        assert (await person.post(f"/people/{bob_id}/end-sessions")).status_code == 422
        assert (await bob.get("/")).headers["location"] == "/sign-in"
        taken = await person.post("/people/invite", data={**form, "name": " BOB", "once": "taken"})
        assert taken.status_code == 422
        assert 'value="BOB"' in taken.text
        removed = await person.post(f"/people/{bob_id}/remove", data={"once": "two"})
        assert removed.status_code == 303, removed.text
        assert (await bob.get("/")).headers["location"] == "/sign-in"


@pytest.mark.extended
async def test_the_key_of_an_expired_invitation_is_revoked_when_an_owner_next_invites(
    console: Any, person: httpx.AsyncClient
) -> None:
    form = {"name": "Bob", "role": "viewer"}
    await person.post("/people/invite", data={**form, "once": "one"})
    database = await asyncpg.connect(console.database_url)
    try:
        await database.execute("update invitations set expires_at = now() - interval '1 second'")
    finally:
        await database.close()
    again = await person.post("/people/invite", data={**form, "once": "two"})
    assert again.status_code == 200
    keys = [each for each in (await console.orchestrator.list_keys())["items"] if each["name"] == "bob"]
    assert sorted(each["revoked_at"] is None for each in keys) == [False, True]


async def test_open_and_ended_invitations_are_listed_and_taken_back(
    console: Any, person: httpx.AsyncClient
) -> None:
    for name in ("Bob <b>", "Carl"):
        await person.post("/people/invite", data={"name": name, "role": "viewer", "once": name})
    database = await asyncpg.connect(console.database_url)
    try:
        await database.execute(
            "update invitations set expires_at = now() - interval '1 hour' where name = 'Carl'"
        )
    finally:
        await database.close()
    shown = (await person.get("/people")).text
    assert "Withdraw the invitation of Bob &lt;b&gt;" in shown
    assert "Take the ended invitation of Carl off the list" in shown
    for number, path in enumerate(re.findall(r"/people/invitations/[^/]+/withdraw", shown)):
        assert (await person.post(path, data={"once": f"w{number}"})).status_code == 303
    assert "/withdraw" not in (await person.get("/people")).text
    keys = (await console.orchestrator.list_keys())["items"]
    assert [each["name"] for each in keys if each["revoked_at"] is None] == ["ada"]


async def test_the_key_of_a_person_removed_over_the_api_is_revoked_by_the_next_owner(
    console: Any, person: httpx.AsyncClient
) -> None:
    await person.post(await console.invite("Bob", "viewer"), data={"name": "Bob", "password": PASSWORD})
    await person.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
    people = (await console.api.get("/v1/people")).json()["items"]
    (bob,) = [each for each in people if each["name"] == "Bob"]
    assert (await console.api.delete(f"/v1/people/{bob['id']}")).status_code == 204
    assert (await console.api.delete(f"/v1/people/{bob['id']}")).status_code == 404
    await person.post("/people/invite", data={"name": "Carl", "role": "viewer", "once": "one"})
    keys = (await console.orchestrator.list_keys())["items"]
    assert [each["name"] for each in keys if each["revoked_at"] is not None] == ["bob"]
