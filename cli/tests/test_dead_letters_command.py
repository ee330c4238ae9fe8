"""`brandctl dead-letters` as a process of its own, against a running monitor."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr
from rich.console import Console

from brandctl.app import main
from brandctl.dead_letters.view import show_full, show_groups, show_list
from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Service, ServiceSettings, Unprocessable, on_each
from messaging.running_code import running_code
from messaging.testing import Broker
from monitor.app import build
from monitor.settings import Settings
from tests.fixtures.commands import brandctl
from tests.fixtures.commands.brandctl import CommandResult

KEY = "test-service-key-0123456789"
MakeDatabase = Callable[..., Awaitable[str]]


class Operator:
    """Runs the command in an empty folder, as a person at a shell would."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.variables = {"MONITOR_URL": url, "SERVICE_KEY": KEY}

    async def __call__(self, *arguments: str) -> CommandResult:
        ended = await brandctl.Operator(self.folder, self.variables, "dead-letters")(*arguments)
        assert KEY not in ended.told
        return ended


@pytest.fixture
async def operator(make_database: MakeDatabase, rabbitmq_url: str, tmp_path: Path) -> AsyncIterator[Operator]:
    settings = Settings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(await make_database("monitor")),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    async with running(build(settings)) as service:
        yield Operator(f"http://127.0.0.1:{service.port}", tmp_path)


def command(**changes: Any) -> bytes:
    document = {
        "event_id": str(uuid4()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "chain-1",
        "payload": {"brand_slug": "daily-grind", "content_id": str(uuid4()), "target": "site"},
    }
    return json.dumps(document | changes).encode()


async def dead(operator: Operator, rabbitmq_url: str, *bodies: bytes) -> list[str]:
    """Puts bodies into a dead-letter queue; returns the ids they were recorded under, oldest first."""
    async with Broker.connected(rabbitmq_url) as broker:
        for body in bodies:
            await broker.publish(
                "dead-letters",
                "publisher-commands",
                body,
                headers={
                    "failure-reason": "permanent",
                    "failure-message": "[red]gone[/] \x1b[31m \x9b31m \u202e :smile:",
                    "failure-stack": 'Traceback\n  File "/app/publisher/handlers.py", line 41, in publish\nGone: 410\n',
                },
            )

    async with httpx.AsyncClient(base_url=operator.url, headers={"X-Service-Key": KEY}) as monitor:
        # Of the service itself: the command would be a process for each time.
        async def all_there() -> list[dict[str, Any]]:
            items: list[dict[str, Any]] = (await monitor.get("/v1/dead-letters")).json()["items"]
            return items if len(items) == len(bodies) else []

        found = await eventually(all_there)
    return [item["id"] for item in reversed(found)]


@pytest.mark.extended
async def test_list_and_show_tell_what_died(operator: Operator, rabbitmq_url: str) -> None:
    nothing = await operator("list")
    assert (nothing.code, nothing.out) == (1, "")
    assert "No dead letters" in nothing.err

    [one] = await dead(operator, rabbitmq_url, command())
    plain = await operator("list")
    heading, line = plain.out.splitlines()
    assert heading.split("\t")[0] == "id"
    assert line.split("\t")[:4] == [one, "open", "publisher-commands", "content.publish"]
    assert "\x1b" not in plain.out
    assert [each["id"] for each in (await operator("list", "--json")).json()["items"]] == [one]
    assert (await operator("list", "--type", "social.create")).code == 1
    assert (await operator("list", "--summary")).out.splitlines()[1].startswith("1\tpublisher-commands")

    shown = await operator("show", one)
    assert shown.code == 0
    assert "daily-grind" in shown.out
    assert (await operator("show", one, "--json")).json()["id"] == one
    unknown = await operator("show", "nonsense")
    assert (unknown.code, unknown.out) == (1, "")
    assert "nonsense" in unknown.err


async def test_what_is_hidden_is_shown_on_demand(operator: Operator, rabbitmq_url: str) -> None:
    payload = {"token": "t0k3n", "comment": "zoe dislikes it", "keyword": "coffee"}
    [one] = await dead(operator, rabbitmq_url, command(payload=payload))
    masked = await operator("show", one)
    assert "coffee" in masked.out
    assert "zoe" not in masked.out + masked.err
    assert "hidden: payload.token, payload.comment; --raw shows them" in masked.out
    assert (await operator("list", "--payload", "zoe")).code == 1
    raw = await operator("show", one, "--raw", "--json")
    assert raw.json()["payload"]["payload"] == payload


@pytest.mark.extended
async def test_discard_keeps_the_reason_and_works_once(operator: Operator, rabbitmq_url: str) -> None:
    [one] = await dead(operator, rabbitmq_url, b"\xff")
    assert (await operator("discard", one)).code == 2
    assert (await operator("discard", one, "--reason", " ")).code == 2
    garbage = await operator("replay", one)
    assert garbage.code == 1
    assert "discard" in garbage.err
    assert (await operator("discard", one, "--reason", "a bad sender")).code == 0
    again = await operator("discard", one, "--reason", "twice", "--json")
    assert again.code == 1
    assert "a bad sender" in again.json()["refused"][0]["detail"]


@pytest.mark.extended
async def test_replay_waits_for_the_outcome(
    operator: Operator, rabbitmq_url: str, make_database: MakeDatabase
) -> None:
    fixed = asyncio.Event()

    async def publish(_: DomainMessage[ContentPublish], __: Context) -> None:
        if not fixed.is_set():
            raise Unprocessable("still broken")

    [one, *_] = ids = await dead(operator, rabbitmq_url, *(command() for _ in range(3)))
    unheard = await operator("replay", one, "--wait", "--timeout", "0.5", "--json")
    assert (unheard.code, unheard.json()["replayed"][0]["outcome"]) == (1, "waiting")
    assert (await operator("replay", one)).code == 1

    settings = ServiceSettings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(await make_database()),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    service = Service("publisher", settings, CATALOGUE)
    service.consume("publisher-commands", on_each(publish, ContentPublish))
    async with running(service):
        again = await operator("replay", ids[1], "--wait", "--json")
        assert (again.code, again.json()["replayed"][0]["outcome"]) == (1, "dead_again")
        fixed.set()
        handled = await operator("replay", again.json()["replayed"][0]["replaced_by"], "--wait")
        assert handled.code == 0
        assert "handled" in handled.err

        wary = await operator("replay", "--all", "--queue", "publisher-commands")
        assert wary.code == 2
        assert "--yes" in wary.err
        rest = await operator("replay", "--all", "--queue", "publisher-commands", "--yes", "--wait", "--json")
        assert rest.code == 0
        assert {entry["outcome"] for entry in rest.json()["replayed"]} == {"handled"}
        assert ids[2] in {entry["id"] for entry in rest.json()["replayed"]}
        assert (await operator("replay", "--all", "--yes")).code == 1


async def test_the_address_and_the_key_come_from_where_they_should(operator: Operator) -> None:
    operator.variables = {}
    nowhere = await operator("list")
    assert nowhere.code == 2
    assert "--monitor-url" in nowhere.err
    assert (await operator("list", "--monitor-url", operator.url)).code == 2

    (operator.folder / ".local").mkdir()
    (operator.folder / ".local/service.key").write_text(f"{KEY}\n")
    told = {"monitor_url": operator.url, "service_key_file": "service.key"}
    (operator.folder / ".local/endpoints.json").write_text(json.dumps(told))
    assert "0 open" in (await operator("list")).err
    elsewhere = await operator("list", "--monitor-url", operator.url.replace("127.0.0.1", "localhost"))
    assert elsewhere.code == 2
    assert "key" in elsewhere.err

    (operator.folder / "wrong.key").write_text("wrong-key-wrong-key")
    refused = await operator("list", "--key-file", "wrong.key")
    assert refused.code == 1
    assert "401" in refused.err


def test_mistakes_are_told_as_usage_before_the_monitor_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], free_port: Callable[[], int]
) -> None:
    monkeypatch.setenv("MONITOR_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("SERVICE_KEY", KEY)

    def code_of(*arguments: str) -> object:
        monkeypatch.setattr(sys, "argv", ["brandctl", "dead-letters", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    for arguments in (
        ["replay"],
        ["replay", "--all", "some-id"],
        ["replay", "some-id", "--queue", "x"],
        ["replay", "some-id", "--group", "x"],
        ["discard", "--reason", "x"],
        ["discard", "--all", "some-id", "--reason", "x"],
        ["discard", "--all", "--yes"],
        ["list", "--state", "dead"],
        ["list", "--summary", "--type", "x"],
        ["list", "--summary", "--error", "x"],
        ["list", "--failed-since", "yesterday"],
        ["list", "--min-attempts", "-1"],
        ["replay", "some-id", "--error", "x"],
        ["discard", "--error", "x", "--reason", "x"],
        ["replay", "some-id", "--canary"],
        ["replay", "--all", "--canary"],
        ["replay", "--group", "x", "--queue", "x", "--canary"],
        ["restore", "some-id"],
        ["restore", "some-id", "--reason", " "],
        ["restore", "--reason", "x"],
        ["frobnicate"],
    ):
        assert code_of(*arguments) == 2, arguments
    capsys.readouterr()
    for name in ("list", "show", "replay", "discard", "restore"):
        assert code_of(name, "--help") == 0
        assert f"brandctl dead-letters {name}" in capsys.readouterr().out


async def test_a_monitor_that_is_away_is_named(operator: Operator, free_port: Callable[[], int]) -> None:
    operator.variables["MONITOR_URL"] = away = f"http://127.0.0.1:{free_port()}"
    answer = await operator("list")
    assert answer.code == 1
    assert away in answer.err


@pytest.mark.extended
async def test_many_are_discarded_after_a_preview_with_who_and_why(
    operator: Operator, rabbitmq_url: str
) -> None:
    ids = await dead(operator, rabbitmq_url, *(command() for _ in range(25)))
    wary = await operator("discard", "--all", "--queue", "publisher-commands", "--reason", "a bad sender")
    assert (wary.code, wary.out) == (2, "")
    assert "25 dead letters of publisher-commands" in wary.err
    assert (await operator("list", "--json")).json()["open"] == 25

    done = await operator(
        *("discard", "--all", "--queue", "publisher-commands", "--reason", "a bad sender"),
        *("--by", "ann", "--yes", "--json"),
    )
    assert (done.code, sorted(done.json()["discarded"])) == (0, sorted(ids))
    assert done.err == "25 discarded\n"
    one = (await operator("show", ids[0], "--json")).json()
    assert (one["state"], one["decided_by"], one["decided_why"]) == ("discarded", "ann", "a bad sender")
    again = await operator("discard", "--all", "--reason", "a bad sender", "--yes")
    assert (again.code, again.out) == (1, "")
    assert "No open dead letter" in again.err


@pytest.mark.extended
async def test_discarded_ones_are_restored_by_id_or_all_that_match(
    operator: Operator, rabbitmq_url: str
) -> None:
    [first, *_] = ids = await dead(operator, rabbitmq_url, *(command() for _ in range(3)))
    assert (await operator("discard", "--all", "--reason", "a mistake", "--yes")).code == 0
    why = ("--reason", "the wrong ones", "--by", "ann")
    one = await operator("restore", first, *why)
    assert (one.code, f"{first} restored" in one.err) == (0, True)
    shown = (await operator("show", first, "--json")).json()
    assert [shown[name] for name in ("state", "restored_by", "restored_why")] == ["open", "ann", why[1]]
    wary = await operator("restore", "--all", "--queue", "publisher-commands", *why)
    assert (wary.code, "restore 2 dead letters of publisher-commands" in wary.err) == (2, True)
    rest = await operator("restore", "--all", "--type", "content.publish", *why, "--yes", "--json")
    assert sorted(rest.json()["restored"]) == sorted(ids[1:])
    assert (rest.json()["resolved"], rest.json()["refused"]) == (0, [])
    none = await operator("restore", "--all", *why, "--yes")
    assert (none.code, "No discarded dead letter" in none.err) == (1, True)
    await operator("replay", first)
    refused = await operator("restore", first, *why, "--json")
    assert (refused.code, "being replayed" in refused.json()["refused"][0]["detail"]) == (1, True)


async def test_the_same_options_search_list_and_select(operator: Operator, rabbitmq_url: str) -> None:
    content = str(uuid4())
    wanted = command(payload={"brand_slug": "daily-grind", "content_id": content, "target": "site"})
    bodies = [command(), wanted, command(correlation_id="chain-2")]
    await dead(operator, rabbitmq_url, *bodies)
    # Recorded in one batch, they have no order of their own.
    recorded = (await operator("list", "--json")).json()["items"]
    by_message = {each["event_id"]: each["id"] for each in recorded}
    ids = [by_message[json.loads(each)["event_id"]] for each in bodies]
    searches: list[tuple[list[str], list[str]]] = [
        (["--payload", content], [ids[1]]),
        (["--message-id", json.loads(wanted)["event_id"]], [ids[1]]),
        (["--error", "RED]GONE", "--correlation-id", "chain-2"], [ids[2]]),
        (["--min-attempts", "99"], []),
        (["--failed-before", "2026-01-01"], []),
        (["--failed-since", "2026-01-01T00:00", "--max-attempts", "99"], ids),
    ]
    for options, expected in searches:
        found = (await operator("list", *options, "--json")).json()
        assert sorted(each["id"] for each in found["items"]) == sorted(expected), options
    wary = await operator("discard", "--all", "--payload", content, "--reason", "no")
    assert (wary.code, f"1 dead letter with the text “{content}”" in wary.err) == (2, True)
    done = await operator("discard", "--all", "--payload", content, "--reason", "no", "--yes", "--json")
    assert done.json()["discarded"] == [ids[1]]
    assert (await operator("list", "--json")).json()["open"] == 2


@pytest.mark.extended
async def test_a_group_is_replayed_and_nothing_else(operator: Operator, rabbitmq_url: str) -> None:
    await dead(operator, rabbitmq_url, command(), b"garbage", command())
    groups = (await operator("list", "--summary", "--json")).json()["groups"]
    [group] = [each["group"] for each in groups if each["count"] == 2 or len(groups) == 1]
    listed = (await operator("list", "--group", group, "--json")).json()["items"]
    ids = [each["id"] for each in listed if each["event_id"] is not None]
    assert len(ids) == 2
    wary = await operator("replay", "--group", group)
    assert wary.code == 2
    assert f"of group {group}" in wary.err
    done = await operator("replay", "--group", group, "--yes", "--reason", "mended", "--json")
    assert done.code == 0
    assert sorted(each["id"] for each in done.json()["replayed"]) == sorted(ids)
    one = (await operator("show", ids[0], "--json")).json()
    assert (one["state"], one["decided_why"]) == ("replaying", "mended")
    assert "@" in one["decided_by"]
    assert (await operator("replay", "--group", "nonsense", "--yes")).code == 1


@pytest.mark.extended
async def test_a_group_is_replayed_in_steps_until_the_same_failure_comes_back(
    operator: Operator, rabbitmq_url: str, make_database: MakeDatabase
) -> None:
    broken = asyncio.Event()

    async def publish(_: DomainMessage[ContentPublish], __: Context) -> None:
        if broken.is_set():
            raise Unprocessable("still broken")

    settings = ServiceSettings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(await make_database()),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    service = Service("publisher", settings, CATALOGUE)
    service.consume("publisher-commands", on_each(publish, ContentPublish))
    broken.set()
    async with running(service), Broker.connected(rabbitmq_url) as broker:
        for _ in range(3):
            await broker.publish("commands", "publisher-commands", command())

        async def grouped() -> Any:
            groups = (await operator("list", "--summary", "--json")).json()["groups"]
            return groups if groups and groups[0]["count"] == 3 else None

        [group] = await eventually(grouped)
        since = {"changed": 0, "same": 0, "unknown": 3, "away": ["publisher"]}
        assert group["code_since"] == since  # no address of it is given
        assert "3 not known; publisher does not answer" in (await operator("list", "--summary")).out
        own = running_code(CATALOGUE.system, "publisher")
        assert [(each["code"], each["count"]) for each in group["codes"]] == [(own.hash, 3)]
        assert (await operator("list", "--code", own.hash, "--json")).json()["matching"] == 3
        canary = ("replay", "--group", group["group"], "--canary", "--wait", "--timeout", "60")
        stopped = await operator(*canary, "--json")
        broken.clear()
        done = await operator(*canary)
    told = stopped.json()["canary"]
    assert (stopped.code, told["state"], told["replayed"]) == (1, "came_back", 1)
    assert told["came_back"] in stopped.err
    assert (done.code, "3 of 3 sent again" in done.err) == (0, True)


@pytest.mark.extended
async def test_terminals_get_whole_lines_and_no_foreign_control_characters(
    operator: Operator, rabbitmq_url: str
) -> None:
    [one] = await dead(operator, rabbitmq_url, b"\x1b[2J\xff\xc2\x9b2J")
    told = await operator("show", one, "--json")
    assert not [character for character in told.out if not character.isprintable() and character != "\n"]
    letter = told.json()
    assert (
        letter["detail"] == "[red]gone[/] \x1b[31m \x9b31m \u202e :smile:"
    )  # to a reader of JSON, all is there
    (operator.folder / "out").touch()
    shown = (await operator("show", one)).out
    assert shown.count("publisher/handlers.py") == 2  # in `frame`, and in the stack
    for width in (100, 60):
        console = Console(
            force_terminal=True, width=width, record=True, file=(operator.folder / "out").open("w")
        )
        show_list(console, [letter])
        first, second, third = console.export_text(styles=False, clear=False).splitlines()
        assert first.startswith(f"{one}  open  20")
        assert "publisher-commands  -  permanent" in second
        assert third.strip() == "[red]gone[/] \ufffd[31m \ufffd31m \ufffd :smile:"
        show_full(console, letter)
        console.file.close()
        assert "\x1b[2J" not in (operator.folder / "out").read_text()
        assert "\x9b" not in (operator.folder / "out").read_text()


def test_a_group_takes_whole_lines_too(tmp_path: Path) -> None:
    group: dict[str, Any] = {
        "group": "5f0c3a9b1e77d204",
        "count": 1200,
        "queue": "publisher-commands",
        "reason": "exhausted",
        "exception_type": "Gone",
        "frame": "publisher/handlers.py:41 in publish",
        "newest_id": str(uuid4()),
        "newest_detail": "x" * 500,
        "code_since": {"changed": 37, "same": 3, "unknown": 1160, "away": ["publisher"]},
    }
    with (tmp_path / "out").open("w") as file:
        console = Console(force_terminal=True, width=80, record=True, file=file)
        show_groups(console, [group])
    lines = console.export_text(styles=False).splitlines()
    assert [len(line) <= 80 for line in lines] == [True] * 5
    assert lines[0] == "5f0c3a9b1e77d204  1,200  publisher-commands  exhausted"
    assert group["newest_id"] in lines[2]
    assert lines[4].startswith("  37 of 1,200 failures ran code that has changed since; 1,160 not known; ")


async def test_code_that_has_changed_since_is_told(operator: Operator, rabbitmq_url: str) -> None:
    present = running_code(CATALOGUE.system, "monitor").hash
    former = "0" * 16
    async with Broker.connected(rabbitmq_url) as broker:
        for code in (former, former, present, None):
            facts = {"failure-reason": "permanent", "failure-message": "x", "failure-service": "monitor"}
            facts |= {"failure-code": code} if code else {}
            await broker.publish("dead-letters", "publisher-commands", command(), headers=facts)

    async def grouped() -> Any:
        groups = (await operator("list", "--summary", "--json")).json()["groups"]
        return groups if groups and groups[0]["count"] == 4 else None

    [group] = await eventually(grouped)
    assert group["code_since"] == {"changed": 2, "same": 1, "unknown": 1, "away": []}
    told = (await operator("list", "--summary")).out
    assert "2 of 4 failures ran code that has changed since; 1 not known" in told
    for code, since, count in ((former, "changed", 2), (present, "same", 1)):
        found = (await operator("list", "--code", code, "--json")).json()["items"]
        assert len(found) == count
        shown = await operator("show", found[0]["id"], "--json")
        assert shown.json()["code_since"] == since


async def test_after_make_up_the_monitor_is_found_where_the_settings_say(operator: Operator) -> None:
    operator.variables = {}
    port = operator.url.rpartition(":")[2]
    (operator.folder / ".env").write_text(f'SERVICE_KEY="{KEY}"\nMONITOR_PORT={port}\n')
    assert "0 open" in (await operator("list")).err
    # The key is for those containers, and for nobody else.
    elsewhere = await operator("list", "--monitor-url", operator.url.replace("127.0.0.1", "localhost"))
    assert elsewhere.code == 2
    operator.variables = {"MONITOR_PORT": "1"}
    assert "127.0.0.1:1 " in (await operator("list")).err
