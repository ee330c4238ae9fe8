"""The API over real HTTP."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DomainMessage
from messaging import Database, DeadLetter

LIST = "/v1/dead-letters"

NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/summary"), ("GET", "/by-day"), ("GET", "/x"), ("POST", "/replay"), ("POST", "/discard"), ("POST", "/outcomes"), ("POST", "/x/replay"), ("POST", "/x/discard")],
)  # fmt: skip
async def test_every_route_asks_for_the_key_first(origin: str, method: str, path: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as stranger:
        for headers in ({}, {"X-Service-Key": "wrong-key-wrong-key"}):
            answer = await stranger.request(
                method, f"{origin}{LIST}{path}", headers=headers, content=b"{broken"
            )
            assert (answer.status_code, answer.json()["title"]) == (401, "Unauthorized")


async def test_the_list_is_paged_newest_first_and_filtered(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    first = await record(*(new_death() for _ in range(3)))
    [other] = await record(
        new_death(new_envelope(type="social.create", correlation_id="c2"), queue="social-commands")
    )
    page = (await api.get(LIST, params={"limit": 1})).json()
    assert ([item["id"] for item in page["items"]], page["matching"], page["open"]) == ([str(other)], 4, 4)
    seen: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = (await api.get(LIST, params=params)).json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        params["before"] = page["next"]
    assert seen[0] == str(other)
    assert sorted(seen) == sorted(str(dead) for dead in (*first, other))
    for params in (
        {"queue": "social-commands"},
        {"queue": "social-commands-dlq"},
        {"type": "social.create"},
        {"correlation_id": "c2"},
    ):
        found = (await api.get(LIST, params=params)).json()
        assert [item["id"] for item in found["items"]] == [str(other)]
        assert (found["matching"], found["open"]) == (1, 4)
    assert (await api.get(LIST, params={"state": "discarded"})).json()["items"] == []


async def test_of_a_chain_those_are_found_whose_message_names_a_keyword_or_its_article(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    keyword, article = 'caf\u00e9 "au lait"', uuid4()

    def dead(chain: str, **payload: Any) -> DomainMessage[DeadLetter]:
        body = new_envelope(correlation_id=chain, payload={"brand_slug": "daily-grind", **payload})
        return new_death(body)

    ours = [dead("chain", keyword=keyword), dead("chain", content_id=str(article))]
    # As the envelope writes it: compact, and not in ASCII alone.
    compact = json.dumps(json.loads(ours[0].payload.body), ensure_ascii=False, separators=(",", ":"))
    ours.append(new_death(compact.encode()))
    wanted = {str(each) for each in await record(*ours)}
    await record(
        dead("chain", keyword=f"{keyword}s"),
        dead("chain", comment=keyword),
        dead("chain", content_id=str(uuid4())),
        dead("other chain", keyword=keyword),
        new_death(b"garbage", correlation_id="chain"),
    )
    both = {"correlation_id": "chain", "keyword": keyword, "content_id": str(article)}
    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in wanted:
        page = (await api.get(LIST, params={**both, **after, "limit": 1})).json()
        assert page["matching"] == 3
        seen += [item["id"] for item in page["items"]]
        after = {"after": page["next"]}
    assert (set(seen), after) == (wanted, {"after": None})
    only = {"correlation_id": "chain", "content_id": str(article)}
    assert (await api.get(LIST, params=only)).json()["matching"] == 1


@pytest.mark.extended
@pytest.mark.parametrize(
    "params",
    [{"keyword": "tea"}, {"content_id": str(uuid4())}, {"state": "dead"}, {"limit": 0}, {"limit": 1000}, {"before": "x"}, {"before": str(uuid4())}, {"queue": "a\x00"}, {"queue": ""}],
)  # fmt: skip
async def test_wrong_filters_are_refused_in_a_sentence(
    api: httpx.AsyncClient, params: dict[str, Any]
) -> None:
    answer = await api.get(LIST, params=params)
    assert answer.status_code == 422
    (name,) = params
    # `before` is what `after` was called.
    assert answer.json()["detail"].startswith((name, "after") if name == "before" else name)


async def test_a_body_is_shown_as_what_it_is(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    bodies = [new_envelope(), b"caf\xe9 \x00", b"x" * 300_000, b'{"a": 1e999}', b'{"a": "\\u0000"}']
    ids = await record(new_death(bodies[0]), *(new_death(body, dead_event_id=None) for body in bodies[1:]))
    shown = [(await api.get(f"{LIST}/{dead}")).json() for dead in ids]
    assert shown[0]["payload"]["type"] == "content.publish"
    assert (shown[0]["payload_text"], shown[0]["payload_base64"]) == (None, None)
    assert (shown[1]["payload"], shown[1]["payload_text"]) == (None, "caf� \x00")
    assert shown[1]["payload_base64"] is None
    revealed = (await api.post(f"{LIST}/{shown[1]['id']}/reveal")).json()
    assert base64.b64decode(revealed["payload_base64"]) == bodies[1]
    assert (shown[2]["payload_bytes"], shown[2]["payload_truncated"]) == (300_000, True)
    assert shown[4]["payload"] == {"a": "\x00"}
    assert shown[0]["stack"].endswith("Gone: 410\n")
    assert shown[0]["headers"] == {"attempt": 5}


async def test_the_list_and_all_that_match_are_found_by_the_same_words(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event = uuid4()
    at = datetime(2026, 5, 1, tzinfo=UTC)
    [first, escaped, spelled] = await record(
        new_death(new_envelope(event), detail="No site 100% of it", attempts=1, failed_at=at),
        new_death(
            new_envelope(payload={"brand_slug": "other", "keyword": 'caf\u00e9 "au lait"'}),
            exception_type="TemplateError",
            attempts=3,
            failed_at=at + timedelta(hours=1),
        ),
        new_death(
            json.dumps(
                {**json.loads(new_envelope()), "payload": {"keyword": 'caf\u00e9 "au lait"'}},
                ensure_ascii=False,
            ).encode(),
            attempts=5,
            failed_at=at + timedelta(hours=2),
        ),
    )
    searches: list[tuple[dict[str, Any], set[UUID]]] = [
        ({"error": "no SITE 100% of"}, {first}),
        ({"error": "1_0% of"}, set()),
        ({"error": "templateerror"}, {escaped}),
        ({"error": "handlers.py:41"}, {first, escaped, spelled}),
        ({"payload": 'caf\u00e9 "au'}, {escaped, spelled}),
        ({"payload": "CAF"}, set()),
        ({"message_id": str(event)}, {first}),
        ({"message_id": str(escaped)}, {escaped}),
        ({"message_id": str(uuid4())}, set()),
        ({"min_attempts": 3}, {escaped, spelled}),
        ({"min_attempts": 2, "max_attempts": 4}, {escaped}),
        ({"failed_since": (at + timedelta(hours=1)).isoformat()}, {escaped, spelled}),
        ({"failed_before": (at + timedelta(hours=1)).isoformat()}, {first}),
        ({"failed_since": at.isoformat(), "failed_before": at.isoformat()}, set()),
        ({"payload": 'caf\u00e9 "au', "error": "templateerror", "queue": "publisher-commands"}, {escaped}),
        ({"payload": 'caf\u00e9 "au', "correlation_id": "nothing"}, set()),
    ]
    for wanted, expected in searches:
        for state in ({"state": "open"}, {}):
            page = (await api.get(LIST, params=wanted | state)).json()
            assert {item["id"] for item in page["items"]} == set(map(str, expected)), wanted
            assert (page["matching"], page["open"]) == (len(expected), 3), wanted
    # What the list does not show, no decision about all that match takes.
    for wanted, expected in searches[:2] + searches[-3:]:
        done = (await api.post(f"{LIST}/discard", json={**wanted, "reason": "searched"})).json()
        assert set(done["ids"]) == set(map(str, expected)), wanted
    for wanted in (searches[4][0], searches[9][0]):
        replayed = (await api.post(f"{LIST}/replay", json=wanted)).json()
        assert [each["id"] for each in replayed["replays"]] == ([str(spelled)] if "payload" in wanted else [])


@pytest.mark.extended
@pytest.mark.parametrize(
    "wrong",
    [
        {"message_id": "nonsense"},
        {"min_attempts": -1},
        {"max_attempts": 2**31},
        {"failed_since": "yesterday"},
        {"error": ""},
        {"payload": "x" * 201},
    ],
)
async def test_a_search_that_makes_no_sense_finds_and_does_nothing(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, wrong: dict[str, Any]
) -> None:
    await record(new_death())
    assert (await api.get(LIST, params=wrong)).status_code == 422
    assert (await api.post(f"{LIST}/replay", json=wrong)).status_code == 422
    assert (await api.post(f"{LIST}/discard", json=wrong | {"reason": "x"})).status_code == 422
    assert (await api.get(LIST)).json()["open"] == 1


async def test_what_is_unknown_is_404(api: httpx.AsyncClient) -> None:
    for dead in (str(uuid4()), "nonsense"):
        for method, path, body in (
            ("GET", "", None),
            ("POST", "/replay", None),
            ("POST", "/discard", {"reason": "x"}),
        ):
            answer = await api.request(method, f"{LIST}/{dead}{path}", json=body)
            assert answer.status_code == 404
            assert dead in answer.json()["detail"]


async def test_two_clicks_on_replay_are_one_replay(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    [dead] = await record(new_death())
    answers = await asyncio.gather(*(api.post(f"{LIST}/{dead}/replay") for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]
    [started] = [answer.json() for answer in answers if answer.status_code == 202]
    assert started["state"] == "replaying"
    for answer in answers:
        if answer.status_code == 409:
            assert started["replay_event_id"] in answer.json()["detail"]
    refused = await api.post(f"{LIST}/{dead}/discard", json={"reason": "no"})
    assert refused.status_code == 409


async def test_garbage_cannot_be_replayed_but_discarded(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    [dead] = await record(new_death(b"\xff"))
    answer = await api.post(f"{LIST}/{dead}/replay")
    assert answer.status_code == 422
    assert "discard" in answer.json()["detail"]
    for reason in ("", "  ", "a\x00", None):
        assert (await api.post(f"{LIST}/{dead}/discard", json={"reason": reason})).status_code == 422
    done = await api.post(f"{LIST}/{dead}/discard", json={"reason": " a bad sender "})
    assert (done.status_code, done.json()["state"], done.json()["resolution"]) == (
        200,
        "discarded",
        "a bad sender",
    )
    for action in ("discard", "replay"):
        again = await api.post(f"{LIST}/{dead}/{action}", json={"reason": "twice"})
        assert again.status_code == 409
        assert "a bad sender" in again.json()["detail"]


async def test_bulk_replay_takes_what_matches_up_to_the_limit(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    await record(new_death(b"garbage"))
    ids = await record(*(new_death() for _ in range(3)))
    [social] = await record(new_death(new_envelope(type="social.create"), queue="social-commands"))
    until = (await api.get(LIST)).json()["now"]
    await record(new_death())

    async def replay(**body: Any) -> list[str]:
        answer = await api.post(f"{LIST}/replay", json=body)
        assert answer.status_code == 202, answer.text
        assert answer.json()["replayed"] == len(answer.json()["replays"])
        return [one["id"] for one in answer.json()["replays"]]

    assert await replay(type="social.create", queue="publisher-commands") == []
    assert await replay(queue="social-commands-dlq") == [str(social)]
    two = await replay(limit=2)
    assert len(two) == 2
    assert await replay(ids=[str(ids[0]), str(social), str(uuid4())]) == (
        [] if str(ids[0]) in two else [str(ids[0])]
    )
    await replay(until=until)
    left = (await api.get(LIST, params={"state": "open"})).json()["items"]
    assert [item["replayable"] for item in left] == [True, False]


@pytest.mark.parametrize(
    ("until", "replayed"),
    [("0001-01-01T00:00:00", 0), ("9999-12-31T23:59:59.999999", 1), ("9999-12-31T23:59:59.999999Z", 1)],
)
async def test_bulk_replay_takes_any_moment_there_is(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, until: str, replayed: int
) -> None:
    await record(new_death())
    answer = await api.post(f"{LIST}/replay", json={"until": until})
    assert (answer.status_code, answer.json()["replayed"]) == (202, replayed)


async def test_a_group_is_replayed_or_discarded_and_no_other(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    alike = await record(*(new_death() for _ in range(3)))
    [other] = await record(new_death(exception_type="Refused"))
    [unreadable] = await record(new_death(b"garbage", exception_type="Refused", stack=None))
    groups = (await api.get(f"{LIST}/summary")).json()["groups"]
    assert sorted(group["count"] for group in groups) == [1, 1, 3]
    [name] = [group["group"] for group in groups if group["count"] == 3]
    [others] = [group["group"] for group in groups if group["newest_id"] == str(other)]
    found = (await api.get(LIST, params={"group": name})).json()
    assert {item["id"] for item in found["items"]} == set(map(str, alike))
    assert {item["group"] for item in found["items"]} == {name}

    order = [item["id"] for item in reversed(found["items"])]
    asked = {"group": name, "reason": "gone", "by": "ann", "limit": 2}
    first = (await api.post(f"{LIST}/discard", json=asked)).json()
    assert first == {"discarded": 2, "ids": order[:2], "next": order[1]}
    again = (await api.post(f"{LIST}/discard", json=asked)).json()
    assert (again["ids"], again["next"]) == (order[2:], None)
    assert (await api.post(f"{LIST}/discard", json=asked)).json()["discarded"] == 0
    one = (await api.get(f"{LIST}/{order[0]}")).json()
    decided = [one[name] for name in ("state", "resolution", "decided_by", "decided_why")]
    assert decided == ["discarded", "gone", "ann", "gone"]

    started = await api.post(f"{LIST}/replay", json={"group": others, "by": "bob", "reason": "mended"})
    assert [each["id"] for each in started.json()["replays"]] == [str(other)]
    one = (await api.get(f"{LIST}/{other}")).json()
    assert [one[name] for name in ("state", "decided_by", "decided_why")] == ["replaying", "bob", "mended"]
    # Garbage cannot be replayed, and is no obstacle to the rest; it can be discarded.
    done = (
        await api.post(f"{LIST}/discard", json={"queue": "publisher-commands-dlq", "reason": "garbage"})
    ).json()
    assert done["ids"] == [str(unreadable)]
    outcomes = (
        await api.post(f"{LIST}/outcomes", json={"ids": [str(other), str(unreadable), str(uuid4())]})
    ).json()
    assert {each["id"]: each["state"] for each in outcomes["outcomes"]} == {
        str(other): "replaying",
        str(unreadable): "discarded",
    }


async def test_going_through_many_takes_each_once_and_nothing_that_came_later(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    ids = [*await record(*(new_death() for _ in range(30))), *await record(*(new_death() for _ in range(31)))]
    until = (await api.get(LIST)).json()["now"]
    await record(new_death())
    body: dict[str, Any] = {"until": until, "limit": 20}
    seen: list[str] = []
    while True:
        answer = (await api.post(f"{LIST}/replay", json=body)).json()
        seen += [each["id"] for each in answer["replays"]]
        if answer["next"] is None:
            break
        body["after"] = answer["next"]
    assert sorted(seen) == sorted(map(str, ids))
    assert (await api.get(LIST)).json()["open"] == 1


async def test_replaying_and_discarding_the_same_ones_at_once_gives_each_one_outcome(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, database: Database
) -> None:
    ids = set(map(str, await record(*(new_death() for _ in range(120)))))

    async def go(path: str, **body: Any) -> list[str]:
        taken: list[str] = []
        while True:
            answer = (await api.post(f"{LIST}{path}", json=body | {"limit": 7})).json()
            taken += [each["id"] for each in answer.get("replays", ())] + answer.get("ids", [])
            if not answer["next"]:
                return taken

    replayed, discarded, more = await asyncio.gather(
        go("/replay"), go("/discard", reason="no"), go("/discard", reason="neither")
    )
    # Whoever passes by what another is at work on may leave some behind.
    rest = await go("/discard", reason="rest")
    assert sorted([*replayed, *discarded, *more, *rest]) == sorted(ids)
    async with database.connection() as connection:
        sent = await connection.fetch("select event_id from outbox where type = 'content.publish'")
        rows = await connection.fetch("select id, state, replay_event_id from dead_messages")
    replays = {str(row["id"]): row["replay_event_id"] for row in rows if row["state"] == "replaying"}
    assert set(replays) == set(replayed)
    assert set(replays.values()) == {row["event_id"] for row in sent}


async def test_a_false_claim_is_replayed_by_its_id_alone(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    [right] = await record(new_death())
    [false] = await record(new_death(reason="false_claim"))

    answer = await api.post("/v1/dead-letters/replay", json={})
    assert [replay["id"] for replay in answer.json()["replays"]] == [str(right)]
    answer = await api.post("/v1/dead-letters/replay", json={"ids": [str(false)]})
    assert [replay["id"] for replay in answer.json()["replays"]] == [str(false)]


@pytest.mark.extended
@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": 501},
        {"ids": []},
        {"quue": "typo"},
        {"ids": ["x"]},
        [],
        {"until": "0001-01-01T00:00:00+14:00"},
        {"until": "9999-12-31T23:59:59-14:00"},
    ],
)
async def test_a_wrong_bulk_request_does_nothing(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, body: Any
) -> None:
    await record(new_death())
    for path in ("replay", "discard"):
        answer = await api.post(f"{LIST}/{path}", json=body)
        assert (answer.status_code, type(answer.json()["detail"])) == (422, str)
    assert (await api.post(f"{LIST}/discard", json={})).status_code == 422  # it does not say why
    assert (await api.get(LIST)).json()["open"] == 1


async def test_like_failures_are_grouped(api: httpx.AsyncClient, record: Record, new_death: NewDeath) -> None:
    await record(*(new_death() for _ in range(3)), new_death(b"x", exception_type=None, stack=None))
    groups = (await api.get(f"{LIST}/summary")).json()["groups"]
    assert [(group["count"], group["reason"], group["frame"]) for group in groups] == [
        (3, "exhausted", "publisher/handlers.py:41 in content_publish"),
        (1, "not_an_envelope", None),
    ]
    assert groups[0]["types"] == ["content.publish"]


async def test_a_group_tells_in_which_code_its_messages_failed(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    former, present = "0123456789abcdef", "fedcba9876543210"
    old = await record(*(new_death(code=former, version="1.0") for _ in range(2)))
    await record(new_death(code=present, version="1.1"), new_death(), new_death(new_envelope_of_other_type()))
    [group] = (await api.get(f"{LIST}/summary")).json()["groups"]
    assert (group["count"], group["codes"]) == (
        5,
        [
            {"service": "publisher", "code": former, "version": "1.0", "count": 2},
            {"service": "publisher", "code": present, "version": "1.1", "count": 1},
        ],
    )
    assert (await api.get(f"{LIST}/summary", params={"group": "0"})).json() == {"groups": []}
    assert (await api.get(f"{LIST}/summary", params={"group": group["group"]})).json()["groups"] == [group]
    found = (await api.get(LIST, params={"group": group["group"], "code": former})).json()
    assert (found["matching"], {item["id"] for item in found["items"]}) == (2, set(map(str, old)))
    assert {(item["code"], item["version"]) for item in found["items"]} == {(former, "1.0")}
    sent = (await api.post(f"{LIST}/replay", json={"code": former})).json()
    assert {each["id"] for each in sent["replays"]} == set(map(str, old))


def new_envelope_of_other_type() -> bytes:
    """A message of the same failure, of another type."""
    return json.dumps(
        {
            "event_id": str(uuid4()),
            "type": "content.unpublish",
            "source": "orchestrator",
            "timestamp": "2026-01-02T03:04:05Z",
            "payload": {},
        }
    ).encode()


async def test_without_a_database_the_api_says_so(api: httpx.AsyncClient, database: Database) -> None:
    await database._connections.close()
    answer = await api.get(LIST)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "try again" in answer.json()["detail"]


async def test_the_api_describes_itself(origin: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as anyone:
        answer = await anyone.get(f"{origin}/openapi.json")
    assert "/v1/dead-letters/{dead_letter_id}/replay" in answer.json()["paths"]
    assert "ServiceKey" in answer.json()["components"]["securitySchemes"]
    responses = answer.json()["paths"]["/v1/dead-letters/replay"]["post"]["responses"]
    assert set(responses) == {"202", "401", "403", "409", "413", "415", "422", "429", "503"}
    assert "64 kB" in responses["413"]["description"]


async def test_a_large_body_is_refused_before_it_is_looked_at(api: httpx.AsyncClient) -> None:
    answer = await api.post(f"{LIST}/replay", content=b" " * 64_001)
    assert (answer.status_code, answer.json()["status"]) == (413, 413)


async def test_dead_letters_are_counted_by_day_and_queue(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, database: Database
) -> None:
    made = await record(*(new_death() for _ in range(3)), new_death(queue="social-commands"))
    async with database.connection() as connection:
        await connection.execute(
            "update dead_messages set recorded_at = recorded_at - interval '2 days' where id = $1", made[0]
        )
        await connection.execute(
            "update dead_messages set recorded_at = recorded_at - interval '9 days' where id = $1", made[1]
        )
    await api.post(f"{LIST}/{made[0]}/discard", json={"reason": "known"})
    found = (await api.get(f"{LIST}/by-day", params={"days": 7})).json()
    today = date.fromisoformat(found["today"])
    assert today - datetime.now(UTC).date() <= timedelta()
    assert found["first_day"] == f"{today - timedelta(days=6)}"
    counted = {(each["day"], each["recorded"], each["open"]) for each in found["items"]}
    assert counted == {(f"{today - timedelta(days=2)}", 1, 0), (f"{today}", 1, 1)}
    assert {each["queue"] for each in found["items"] if each["day"] == f"{today}"} >= {"social-commands"}
    assert (await api.get(f"{LIST}/by-day", params={"days": 91})).status_code == 422
