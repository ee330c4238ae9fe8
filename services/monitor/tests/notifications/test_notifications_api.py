"""What operators set, look at and try over the API."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.responses import Response

from envelope import DomainMessage, new_event_id
from messaging import DeadLetter

NewDeath = Callable[..., DomainMessage[DeadLetter]]
Record = Callable[..., Awaitable[list[UUID]]]
ROUTES = "/v1/notifications/routes"


async def test_a_route_is_set_shown_changed_and_removed(desk: httpx.AsyncClient) -> None:
    night = {"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"}
    monday = {"weekday": "monday", "at": "08:00", "time_zone": "Europe/Berlin"}
    wanted = {
        "account": "chat",
        "to": ["-1001"],
        "kinds": ["in_doubt"],
        "quiet_hours": night,
        "summary": monday,
    }
    made = await desk.put(f"{ROUTES}/night-shift", json=wanted)
    again = await desk.put(f"{ROUTES}/night-shift", json=wanted)

    assert (made.status_code, again.status_code) == (201, 200)
    shown = (await desk.get(f"{ROUTES}/night-shift")).json()
    assert {name: shown[name] for name in wanted} == wanted
    assert (shown["state"], shown["brand"], shown["group_seconds"]) == ("working", None, 60)
    assert shown["summary_due_at"] == made.json()["summary_due_at"]
    assert [each["name"] for each in (await desk.get(ROUTES)).json()["items"]] == ["night-shift"]

    assert (await desk.delete(f"{ROUTES}/night-shift")).status_code == 204
    assert (await desk.delete(f"{ROUTES}/night-shift")).status_code == 404
    log = (await desk.get("/v1/audit-log")).json()["items"]
    assert [each["operation"] for each in log] == [
        "DELETE /v1/notifications/routes/{name}",
        "PUT /v1/notifications/routes/{name}",
        "PUT /v1/notifications/routes/{name}",
    ]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"account": "nowhere"}, "account: no account nowhere is connected"),
        ({"account": "blog"}, "blog is a wordpress account; notifications go out through discord, slack"),
        ({"account": "acme-hook"}, "acme-hook is not for operators"),
        ({"account": "acme-hook", "brand": "rival"}, "acme-hook is not for brand rival"),
        (
            {"account": "chat", "to": ["-1002"]},
            "to: chat writes to one of -1001, @ops; left out: to the first",
        ),
        ({"account": "mail"}, "to: for a smtp account, name addresses of mail, at most 20"),
        ({"account": "ops", "to": ["a@example.org"]}, "to: a webhook account knows where"),
        ({"account": "ops", "summary": {"time_zone": "Mars/Base"}}, "there is no time zone"),
        ({"account": "ops", "quiet_hours": {"begin": "07:00", "end": "07:00"}}, "quiet hours must end"),
    ],
)
async def test_what_could_not_be_sent_is_refused_at_once(
    desk: httpx.AsyncClient, outside: Any, new_account: Callable[..., Any], asked: dict[str, Any], told: str
) -> None:
    outside.accounts.append(new_account("blog", "wordpress"))
    answer = await desk.put(f"{ROUTES}/x", json=asked)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


async def test_a_test_message_says_whether_it_arrived(
    desk: httpx.AsyncClient, outside: Any, gateway_says: Callable[..., Response]
) -> None:
    async def gone() -> Response:
        return gateway_says(status=404, json=None, text="no_service")

    await desk.put(f"{ROUTES}/ops", json={"account": "ops"})
    outside.answers["ops"] = gone
    failed = (await desk.post(f"{ROUTES}/ops/test")).json()
    assert (failed["state"], failed["problem"]) == ("failed", "webhook answered 404: no_service")
    assert (await desk.get(f"{ROUTES}/ops")).json()["state"] == "working", "who tries sees for himself"

    del outside.answers["ops"]
    sent = (await desk.post(f"{ROUTES}/ops/test")).json()
    assert (sent["state"], sent["problem"], sent["purpose"]) == ("sent", None, "test")
    assert outside.sent["ops"][0]["headers"] == {"webhook-id": f"msg_{sent['id']}"}
    log = (await desk.get("/v1/notifications/messages", params={"route": "ops"})).json()
    assert [each["state"] for each in log["items"]] == ["sent", "failed"]
    assert (await desk.post(f"{ROUTES}/nobody/test")).status_code == 404


async def test_mail_goes_to_its_addresses_and_tells_who_refused_it(
    desk: httpx.AsyncClient, outside: Any, gateway_says: Callable[..., Response]
) -> None:
    async def partly() -> Response:
        return gateway_says(refused={"gone@example.org": "550 No such user"})

    outside.answers["mail"] = partly
    to = ["ops@example.org", "gone@example.org"]
    await desk.put(f"{ROUTES}/mail", json={"account": "mail", "to": to})
    sent = (await desk.post(f"{ROUTES}/mail/test")).json()
    assert (sent["state"], sent["problem"]) == ("sent", "gone@example.org: 550 No such user")
    (mail,) = outside.sent["mail"]
    assert (mail["to"], mail["message_id"]) == (to, f"<{sent['id']}@brand-engine.invalid>")


async def test_a_bot_writes_to_its_usual_chat_or_to_another_of_its_own(
    desk: httpx.AsyncClient, outside: Any
) -> None:
    for to in ([], ["@ops"]):
        assert (await desk.put(f"{ROUTES}/chat", json={"account": "chat", "to": to})).is_success
        assert (await desk.post(f"{ROUTES}/chat/test")).json()["state"] == "sent"
    assert [each["json"]["chat_id"] for each in outside.sent["chat"]] == ["-1001", "@ops"]


@pytest.mark.extended
async def test_what_was_noticed_is_listed_and_acknowledged(
    desk: httpx.AsyncClient, office: Any, outside: Any, record: Record, new_death: NewDeath
) -> None:
    await office.set_route("ops")
    await record(*(new_death(queue=f"{service}-commands") for service in ("social", "publisher", "research")))
    await office.look()

    first = (await desk.get("/v1/notifications", params={"limit": 2, "open": True})).json()
    rest = (await desk.get("/v1/notifications", params={"limit": 2, "before": first["next"]})).json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
    chosen = first["items"][0]
    done = await desk.post(f"/v1/notifications/{chosen['id']}/acknowledge", json={"by": "ada"})
    again = await desk.post(f"/v1/notifications/{chosen['id']}/acknowledge", json={"by": "bob"})
    assert (done.json()["state"], again.json()["acknowledged_by"]) == ("acknowledged", "ada")
    assert (await desk.post(f"/v1/notifications/{new_event_id()}/acknowledge")).status_code == 404

    await office.tell()
    (sent,) = outside.sent["ops"]
    assert chosen["id"] not in {each["id"] for each in sent["json"]["data"]["items"]}
    told = (
        await desk.get("/v1/notifications", params={"brand": "daily-grind", "kind": "dead_letters"})
    ).json()
    assert sorted(len(each["told"]) for each in told["items"]) == [0, 1, 1]


async def test_without_a_gateway_nobody_can_be_told(api: httpx.AsyncClient) -> None:
    answer = await api.put(f"{ROUTES}/ops", json={"account": "ops"})
    assert (answer.status_code, "GATEWAY_URL" in answer.json()["detail"]) == (422, True)
    assert (await api.get(ROUTES)).json() == {"items": []}
