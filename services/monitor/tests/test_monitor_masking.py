"""Bodies of dead letters are shown without what may be secret or a person's; who sees them in full leaves an entry."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.requests import Request

from chassis.http.callers import Caller, Scope
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.masking import masked_fields
from messaging import Database, DeadLetter
from monitor.dead_letters import DeadLetterOperations, mask_bodies
from monitor.dead_letters.masking import mask, mask_text, masked_body
from monitor.http_api import create_api

LIST = "/v1/dead-letters"
Record = Callable[..., Awaitable[list[UUID]]]
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
CALLERS = {
    "reader": Caller("rita", frozenset({Scope.READ})),
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE}), key_id="k-olga"),
    "mender": Caller("mia", frozenset({Scope.READ, Scope.REPAIR}), key_id="k-mia"),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}
SECRET = "zoe would like a shorter headline"


@pytest.fixture
async def door(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """The API, where `X-Service-Key` names one of CALLERS."""

    async def authorise(request: Request) -> Caller:
        return CALLERS[request.headers["X-Service-Key"]]

    app = create_api(database, DeadLetterOperations(database), authorise)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://test", headers={"X-Service-Key": "reader"}
    ) as client:
        yield client


def revision(new_envelope: NewEnvelope, **more: Any) -> bytes:
    """A command whose comment is a person's."""
    payload = {"brand_slug": "daily-grind", "keyword": "coffee", "comment": SECRET, **more}
    return new_envelope(type="content.generate", payload=payload)


def test_marked_fields_are_found_in_models_within_models() -> None:
    assert masked_fields(CATALOGUE) == {"comment", "author"}


@pytest.mark.parametrize(
    ("document", "shown", "hidden"),
    [
        ({"comment": "x", "keyword": "y"}, {"comment": "***", "keyword": "y"}, ["comment"]),
        ({"sources": [{"author": "Zoe"}]}, {"sources": [{"author": "***"}]}, ["sources[0].author"]),
        ({"user_email": {"of": "zoe"}}, {"user_email": "***"}, ["user_email"]),
        ({"Api-Key": "k", "token": 7}, {"Api-Key": "***", "token": "***"}, ["Api-Key", "token"]),
        ({"note": "ask zoe@acme.example now"}, {"note": "ask *** now"}, ["note"]),
        ({"url": "https://u:p4ss@acme.example/"}, {"url": "https://u:***@acme.example/"}, ["url"]),
        ({"comment": "", "phone": None, "password": []}, {"comment": "", "phone": None, "password": []}, []),
        ({"comments": 3, "tokens": 4}, {"comments": 3, "tokens": 4}, []),
        (["plain", 1, None, True], ["plain", 1, None, True], []),
    ],
)
def test_what_is_hidden_and_what_is_not(document: Any, shown: Any, hidden: list[str]) -> None:
    found = mask(document)
    assert (found.value, found.paths) == (shown, hidden)


def test_what_lies_too_deep_to_be_looked_at_is_hidden() -> None:
    document: Any = SECRET
    for _ in range(50):
        document = {"a": [document]}
    assert SECRET not in json.dumps(mask(document).value)


@pytest.mark.parametrize("cut", range(20, 60, 7))
def test_a_body_that_is_no_whole_json_is_masked_as_a_text(cut: int) -> None:
    text = json.dumps({"type": "x", "comment": f'a "quoted" {SECRET}', "a": 1})[:-cut]
    assert "zoe" not in mask_text(text)
    assert b"zoe" not in (masked_body(text.encode()) or b"zoe")


def test_a_body_without_anything_to_hide_is_not_stored_twice(new_envelope: NewEnvelope) -> None:
    assert masked_body(new_envelope()) is None
    assert masked_body(b"\xff garbage") is None
    assert masked_body(b'{"n": ' + b"9" * 6_000 + b', "token": "x"}') is not None


async def test_a_letter_is_shown_masked_and_in_full_to_who_may_repair(
    door: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    [letter] = await record(new_death(revision(new_envelope)))
    for caller in CALLERS.keys() - {"bound"}:
        shown = await door.get(f"{LIST}/{letter}", headers={"X-Service-Key": caller})
        assert SECRET not in shown.text
        assert shown.json()["payload"]["payload"]["comment"] == "***"
        assert shown.json()["payload_hidden"] == ["payload.comment"]
    reveal = f"{LIST}/{letter}/reveal"
    for caller in ("reader", "operator"):
        refused = await door.post(reveal, headers={"X-Service-Key": caller})
        assert (refused.status_code, SECRET in refused.text) == (403, False)
        # The right is asked for before anything is looked up.
        unknown = await door.post(f"{LIST}/nonsense/reveal", headers={"X-Service-Key": caller})
        assert unknown.status_code == 403
    # For a key of another brand there is no such letter.
    assert (await door.post(reveal, headers={"X-Service-Key": "bound"})).status_code == 404
    looked = await door.post(reveal, headers={"X-Service-Key": "mender"})
    assert looked.json()["payload"]["payload"]["comment"] == SECRET
    assert looked.json()["payload_hidden"] == []


async def test_each_look_is_an_entry_of_the_audit_log_and_its_answer_is_kept_nowhere(
    door: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
) -> None:
    [letter] = await record(new_death(revision(new_envelope)))
    by_mender = {"X-Service-Key": "mender"}
    for _ in range(2):
        assert (await door.post(f"{LIST}/{letter}/reveal", headers=by_mender)).status_code == 200
    with_key = {**by_mender, "Idempotency-Key": "once"}
    refused = await door.post(f"{LIST}/{letter}/reveal", headers=with_key)
    assert refused.json()["code"] == "idempotency_key_not_taken"
    async with database.connection() as connection:
        noted = await connection.fetch("select * from audit_log order by id")
        kept = [dict(each) for each in await connection.fetch("select * from kept_answers")]
    assert {(each["caller"], each["key_id"]) for each in noted} == {("mia", "k-mia")}
    assert {each["operation"] for each in noted} == {"POST /v1/dead-letters/{dead_letter_id}/reveal"}
    assert {each["path"] for each in noted} == {f"{LIST}/{letter}/reveal"}
    assert SECRET not in str([dict(each) for each in noted])
    assert SECRET.encode() not in b"".join(
        bytes(value) for each in kept for value in each.values() if isinstance(value, bytes)
    )
    assert SECRET not in str(kept)


async def test_a_search_finds_what_is_shown_and_nothing_that_is_hidden(
    door: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    [letter] = await record(new_death(revision(new_envelope)))
    await record(new_death(revision(new_envelope, keyword="tea")))
    for text, found in (("coffee", [letter]), (SECRET, []), (SECRET[:4], []), ('"comment":"***"', None)):
        for caller in ("reader", "mender"):
            page = await door.get(LIST, params={"payload": text}, headers={"X-Service-Key": caller})
            ids = [each["id"] for each in page.json()["items"]]
            assert len(ids) == 2 if found is None else ids == [str(each) for each in found], text
    body = {"payload": SECRET, "reason": "x"}
    for verb in ("replay", "discard"):
        done = await door.post(f"{LIST}/{verb}", json=body, headers={"X-Service-Key": "operator"})
        assert done.json()[f"{verb}ed" if verb == "replay" else "discarded"] in (0, []), verb


async def test_bodies_of_an_earlier_version_are_found_once_they_are_masked(
    door: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
) -> None:
    await record(*(new_death(revision(new_envelope)) for _ in range(3)), new_death())
    async with database.connection() as connection:
        await connection.execute("update dead_messages set masked = null, masking = null")
    for text in (SECRET, "coffee"):
        assert (await door.get(LIST, params={"payload": text})).json()["matching"] == 0
    await asyncio.gather(mask_bodies(database), mask_bodies(database))
    assert (await door.get(LIST, params={"payload": SECRET})).json()["matching"] == 0
    assert (await door.get(LIST, params={"payload": "coffee"})).json()["matching"] == 3
    assert (await door.get(LIST, params={"payload": "daily-grind"})).json()["matching"] == 4
