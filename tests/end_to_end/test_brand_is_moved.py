"""A brand moves between two installations by one command: it goes on there alone, and a move that broke off continues."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet

from chassis.testing import running
from client import Address
from client.brand_archive import PARTS
from client.brand_move import BrandMover, MoveError, MovingSide
from client.connections import Request, Service
from gateway.app import GatewayApp
from gateway.settings import Settings
from orchestrator.erasure.store import remove_own
from publisher.erasure import _remove as remove_pages
from research.erasure import _remove as remove_research
from social.erasure import _remove as remove_posts
from tests.fixtures.brands.installation import KEY, Installation, fill_acme, installation
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.databases import Roles

A, B = "https://former.example", "https://second.example"


@pytest.fixture
async def former(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, A) as made:
        await fill_acme(made)
        # No process of the test would end it.
        await made.execute("social", "delete from channel_posts where state = 'new'")
        await made.execute(
            "social",
            "update channel_posts set state = 'in_doubt', reason = 'no_answer' where state = 'sending'",
        )
        yield made


@pytest.fixture
async def second(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, B) as made:
        yield made


@dataclass(frozen=True)
class Gateways:
    """The addresses of the gateways of both installations. At the former one, `acme` has the account `mastodon-eu`."""

    former: str
    second: str
    databases: tuple[str, str]

    async def accounts(self) -> list[dict[str, list[str]]]:
        """By side: the names of the accounts with their brands."""
        found: list[dict[str, list[str]]] = []
        async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, trust_env=False) as http:
            for url in (self.former, self.second):
                items = (await http.get(f"{url}/v1/accounts")).raise_for_status().json()["items"]
                found.append({each["name"]: each["brands"] for each in items})
        return found


TOKEN = "mastodon-token-of-acme-0123456789"
MOVES = "a-key-that-both-installations-know-0123456789"


@pytest.fixture
async def gateways(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Gateways]:
    databases = await make_database("gateway"), await make_database("gateway")

    def app(database: str) -> GatewayApp:
        given = {
            "database_url": database,
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": Fernet.generate_key().decode(),
            "egress_reachable_networks": "127.0.0.1/32",
            "moves_key": MOVES,
        }
        return GatewayApp(Settings.model_validate(given))

    async with running(app(databases[0])) as former, running(app(databases[1])) as second:
        made = Gateways(*(f"http://127.0.0.1:{each.port}" for each in (former, second)), databases)
        body = {
            "kind": "mastodon",
            "brands": ["acme"],
            "settings": {"url": "http://127.0.0.1:9"},
            "credentials": {"token": TOKEN},
        }
        async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, trust_env=False) as http:
            (await http.put(f"{made.former}/v1/accounts/mastodon-eu", json=body)).raise_for_status()
        yield made


async def move(
    former: Installation,
    second: Installation,
    act: str = "run",
    *,
    progress: Callable[[str], None] = lambda _: None,
    to: str = B,
    gateways: Gateways | None = None,
) -> Any:
    def run() -> Any:
        from client.services.gateway import Gateway  # noqa: PLC0415  (generated)

        ours: tuple[Any, ...] = former.clients()
        theirs: tuple[Any, ...] = second.clients()
        if gateways is not None:
            ours = (*ours, Gateway(Address(gateways.former, KEY)))
            theirs = (*theirs, Gateway(Address(gateways.second, KEY)))
        try:
            mover = BrandMover("acme", MovingSide(*ours), MovingSide(*theirs), to, progress, wait=0)
            return getattr(mover, act)()
        finally:
            for each in (*ours, *theirs):
                each.close()

    return await asyncio.to_thread(run)


async def all_rows(made: Installation) -> dict[str, list[dict[str, Any]]]:
    return {
        f"{service}/{part}": await made.rows(service, part)
        for service, parts in PARTS.items()
        for part in parts
    }


def there(rows: Any) -> Any:
    """The rows with the addresses of the second installation."""
    return json.loads(json.dumps(rows).replace(f"{A}/sites/acme/", f"{B}/sites/acme/"))


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


async def check_arrived(
    second: Installation, before: dict[str, list[dict[str, Any]]], *, requests: int = 2
) -> None:
    """All rows are there, and go on: the two keywords that waited are at research, once."""
    after = await all_rows(second)
    for name in before.keys() - {"publisher/logos", "social/channel-posts", "orchestrator/keywords"}:
        expected = there(before[name])
        # Keys of subjects are made when the brand goes on.
        assert without(after[name], "subject_key") == without(expected, "subject_key"), name
    keywords = "orchestrator/keywords"
    assert without(after[keywords], "times", "moved_at") == without(
        there(before[keywords]), "times", "moved_at"
    )
    assert [each["state"] for each in after[keywords]] == ["promoting", "needs_review", "queued", "queued"]
    posts, old = after["social/channel-posts"], before["social/channel-posts"]
    assert [(each["post_id"], each["due_at"]) for each in posts] == [
        (each["post_id"], each["due_at"]) for each in old
    ]
    # The planned one keeps its time; the one in doubt is never sent again by itself.
    assert [(each["state"], each["reason"]) for each in posts] == [
        ("posted", ""), ("planned", ""), ("failed", "moved"),
    ]  # fmt: skip
    (schedule,) = after["orchestrator/schedules"]
    assert schedule["state"] == "active"
    documents = (await second.ask("research", "GET", "/v1/brands/acme/documents"))["items"]
    assert [each["name"] for each in documents] == ["notes.md"]
    assert await second.outbox() == ["research.requested"] * requests


async def test_a_brand_goes_on_at_the_other_installation_and_not_here(
    former: Installation, second: Installation
) -> None:
    before = await all_rows(former)
    articles = {row["slug"]: row["content_id"] for row in before["orchestrator/articles"]}
    draft = next(id_ for slug, id_ in articles.items() if slug != "cold-brew")

    report = await move(former, second)

    assert (report.step, report.stays_paused) == ("resumed", False)
    assert report.paused_seconds is not None
    await check_arrived(second, before)
    assert await former.outbox() == []
    here, now = [await made.ask("orchestrator", "GET", "/v1/brands/acme") for made in (former, second)]
    assert (here["paused_at"] is None, now["paused_at"]) == (False, None)
    cycle = before["orchestrator/cycles"][0]["cycle_id"]
    for method, path, body in (
        ("POST", "/v1/brands/acme/resume", None),
        ("POST", "/v1/brands/acme/pause", None),
        ("POST", "/v1/brands/acme/research", {"keywords": ["tea"]}),
        ("PUT", "/v1/brands/acme", {"name": "Acme"}),
        ("PUT", "/v1/brands/acme/schedules/daily", {"keywords": ["tea"], "cron": "0 6 * * *"}),
        ("POST", "/v1/brands/acme/schedules/weekly/run", None),
        ("DELETE", "/v1/brands/acme/schedules/weekly", None),
        ("POST", "/v1/brands/acme/audits", None),
        ("POST", "/v1/brands/acme/subject-decisions", {"kind": "split", "keyword": "rum"}),
        ("POST", f"/v1/cycles/{cycle}/cancel", None),
        ("PUT", f"/v1/cycles/{cycle}/keywords/2/priority", {"priority": "high"}),
        ("POST", f"/v1/drafts/{draft}/approve", {"version": 2}),
        ("POST", f"/v1/drafts/{draft}/reject", {"version": 2, "reason": "no"}),
        ("POST", f"/v1/content/{articles['cold-brew']}/placements/site", {}),
    ):
        refused = await former.ask("orchestrator", method, path, json=body, fine=False)
        told = (refused.status_code, refused.json().get("code"), B in refused.text)
        assert told == (409, "brand_moved", True), (path, refused.text)
    planned = next(each for each in before["social/channel-posts"] if each["state"] == "planned")
    refused = await former.ask(
        "social", "POST", f"/v1/posts/{planned['post_id']}/approve", json={"version": 1}, fine=False
    )
    assert (refused.status_code, refused.json()["code"]) == (409, "brand_has_left")
    # The same once more changes nothing, also after a person has paused it there.
    await second.ask("orchestrator", "POST", "/v1/brands/acme/pause")
    assert (await move(former, second)).step == "resumed"
    assert (await second.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is not None
    # Erased here, it is what it was there.
    await former.ask("orchestrator", "POST", "/v1/brands/acme/erase", json={"confirm": "acme"})
    await check_arrived(second, before)


class Killed(BaseException):
    """The process of the move is gone."""


def kill_after(monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Kills the move after its change of this number, before it has the answer. Returns the changes so far."""
    changes: list[str] = []
    send = Service._send

    def sending(self: Service, request: Request) -> Any:
        if request.method == "GET":
            return send(self, request)
        changes.append(f"{request.method} {self.service}{request.path}")
        answer = send(self, request)
        if len(changes) > number:
            raise Killed
        return answer

    monkeypatch.setattr(Service, "_send", sending)
    return changes


async def forget_move(former: Installation, second: Installation, gateways: Gateways, roles: Roles) -> None:
    """Makes both sides as they were before the move."""
    for database, statements in zip(
        gateways.databases,
        (
            (
                """
                insert into accounts (name, kind, brands, settings, sealed)
                select name, kind, brands, settings, sealed from erased_accounts where not exists (select from accounts)
                """,
                "delete from erased_accounts",
                "delete from erased_brands",
            ),
            ("delete from accounts", "delete from account_arrivals"),
        ),
        strict=True,
    ):
        owner = await asyncpg.connect(roles.owner(database))
        for statement in statements:
            await owner.execute(statement)
        await owner.close()
    for service, remove in (
        ("orchestrator", remove_own),
        ("publisher", remove_pages),
        ("research", remove_research),
        ("social", remove_posts),
    ):
        async with second.databases[service].transaction() as tx:
            await remove(tx.connection, "acme")
            await tx.connection.execute("delete from outbox")
    await former.execute("orchestrator", "delete from brand_moves")
    await former.execute("orchestrator", "update brands set paused_at = null")
    for service in ("publisher", "social"):
        await former.execute(service, "delete from erased_brands")


@pytest.mark.parametrize(
    "every",
    [
        pytest.param(7, id="some", marks=pytest.mark.extended),
        pytest.param(1, id="all", marks=pytest.mark.slow),
    ],
)
async def test_a_move_that_is_killed_at_any_step_continues_by_the_same_command(
    every: int,
    former: Installation,
    second: Installation,
    gateways: Gateways,
    database_roles: Roles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = await all_rows(former)
    with monkeypatch.context() as patched:
        changes = kill_after(patched, 10_000)
        await move(former, second, gateways=gateways)
    assert len(changes) > 30
    for number in range(0, len(changes), every):
        await forget_move(former, second, gateways, database_roles)
        with monkeypatch.context() as patched:
            kill_after(patched, number)
            with pytest.raises(Killed):
                await move(former, second, gateways=gateways)
        # Until all is there, nothing goes on there; from the copy on, nothing goes on here.
        assert await second.outbox() in ([], ["research.requested"] * 2), changes[number]
        assert await former.outbox() == []
        ours, theirs = await gateways.accounts()
        assert not ours or not theirs, "only one side has the account"
        continued = await move(former, second, gateways=gateways)
        assert (continued.step, continued.connect_again) == ("resumed", []), changes[number]
        await check_arrived(second, before)
        assert await gateways.accounts() == [{}, {"mastodon-eu": ["acme"]}]


async def test_accounts_come_along_and_no_secret_is_written_down(
    former: Installation,
    second: Installation,
    gateways: Gateways,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    ours = {f"{name.upper()}_URL": url for name, url in former.urls.items()}
    brandctl = Operator(tmp_path, {**ours, "GATEWAY_URL": gateways.former, "SERVICE_KEY": KEY})
    lines = [f"{name.upper()}_URL={url}" for name, url in second.urls.items()]
    other = tmp_path / "other.env"
    other.write_text("\n".join([*lines, f"GATEWAY_URL={gateways.second}", f"SERVICE_KEY={KEY}"]))
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, trust_env=False) as http:
        taken = {"kind": "webhook", "brands": ["rival"], "settings": {"url": "http://127.0.0.1:9/x"}}
        (await http.put(f"{gateways.second}/v1/accounts/mastodon-eu", json=taken)).raise_for_status()
        refused = await brandctl("brands", "move", "acme", "--to", "other.env")
        assert (refused.code, "other accounts of the names mastodon-eu" in refused.err) == (1, True), (
            refused.err
        )
        assert (await former.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is None
        (await http.delete(f"{gateways.second}/v1/accounts/mastodon-eu")).raise_for_status()

    done = await brandctl("brands", "move", "acme", "--to", "other.env")
    assert done.code == 0, done.err
    assert ("come along: mastodon-eu" in done.err, "connect there" in done.err) == (True, False), done.err
    assert await gateways.accounts() == [{}, {"mastodon-eu": ["acme"]}]
    logged = capfd.readouterr()
    assert await asyncio.to_thread(lambda: [path.name for path in tmp_path.rglob("*")]) == ["other.env"]
    assert not any(TOKEN in text or MOVES in text for text in (done.told, logged.out, logged.err))


async def test_a_move_waits_for_what_runs_and_says_so(former: Installation, second: Installation) -> None:
    await former.execute("orchestrator", "update keywords set state = 'writing' where keyword = 'chemex'")
    told: list[str] = []
    with pytest.raises(MoveError, match=r"1 articles being written after 0 seconds. It stays paused"):
        await move(former, second, progress=told.append)
    assert told == ["paused: what runs ends", "waits for 1 articles being written"]
    # People still decide about drafts meanwhile, and nobody resumes it.
    refused = await former.ask("orchestrator", "POST", "/v1/brands/acme/resume", fine=False)
    assert (refused.status_code, refused.json()["code"]) == (409, "brand_moves")
    kept = await former.ask(
        "orchestrator", "POST", "/v1/brands/acme/subject-decisions", json={"kind": "split", "keyword": "rum"}
    )
    assert kept["changed"]
    refused = await former.ask(
        "orchestrator", "POST", "/v1/brands/acme/erase", json={"confirm": "acme"}, fine=False
    )
    assert (refused.status_code, refused.json()["code"]) == (409, "brand_moves")
    with pytest.raises(MoveError, match=r"moves to https://second\.example already"):
        await move(former, second, to="https://third.example")

    await former.execute("orchestrator", "update keywords set state = 'queued' where keyword = 'chemex'")
    await former.execute("social", "update channel_posts set state = 'sending' where state = 'in_doubt'")
    with pytest.raises(MoveError, match="1 posts being sent"):
        await move(former, second)
    refused = await former.ask(
        "orchestrator", "POST", "/v1/brands/acme/research", json={"keywords": ["tea"]}, fine=False
    )
    assert (refused.status_code, refused.json()["code"]) == (409, "brand_moves")

    await move(former, second, "cancel")
    assert (await former.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is None
    for service in ("publisher", "social"):
        assert (await former.ask(service, "GET", "/v1/brands/acme/departure"))["left_at"] is None
    await former.ask("orchestrator", "POST", "/v1/brands/acme/research", json={"keywords": ["tea"]})
    with pytest.raises(MoveError, match="moves nowhere"):
        await move(former, second, "cancel")


async def test_letters_and_a_brand_that_is_there_already_stop_nothing(
    former: Installation, second: Installation
) -> None:
    await former.execute(
        "publisher",
        "insert into newsletter_letters (content_id, brand_slug) values (gen_random_uuid(), 'acme')",
    )
    with pytest.raises(MoveError, match="1 letters of the newsletter"):
        await move(former, second)
    await former.execute("publisher", "delete from newsletter_letters")
    await second.ask("orchestrator", "PUT", "/v1/brands/acme", json={"name": "Somebody else"})
    with pytest.raises(MoveError, match="has a brand acme already"):
        await move(former, second)
    with pytest.raises(MoveError, match="names this installation"):
        await move(former, former)
    assert (await former.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is None
    missing = await former.ask("orchestrator", "GET", "/v1/brands/acme/move", fine=False)
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_move")


async def test_a_paused_brand_stays_paused_and_steps_keep_their_order(
    former: Installation, second: Installation
) -> None:
    await former.ask("orchestrator", "POST", "/v1/brands/acme/pause")
    begun = await former.ask("orchestrator", "PUT", "/v1/brands/acme/move", json={"to": B})
    early = {"move_id": begun["move_id"], "step": "moved"}
    refused = await former.ask("orchestrator", "PATCH", "/v1/brands/acme/move", json=early, fine=False)
    assert (refused.status_code, refused.json()["code"]) == (409, "move_step_too_early")
    report = await move(former, second)
    assert (report.step, report.stays_paused) == ("resumed", True)
    assert (await second.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is not None
    assert await second.outbox() == []
    late = await former.ask("orchestrator", "DELETE", "/v1/brands/acme/move", fine=False)
    assert (late.status_code, late.json()["code"]) == (409, "move_too_far")
    other = await former.ask(
        "publisher", "PUT", "/v1/brands/acme/departure", json={"move_id": KEY_ID}, fine=False
    )
    assert (other.status_code, other.json()["code"]) == (409, "brand_has_left")


KEY_ID = "00000000-0000-0000-0000-000000000007"


async def test_the_command_moves_a_brand(former: Installation, second: Installation, tmp_path: Path) -> None:
    before = await all_rows(former)
    ours = {f"{name.upper()}_URL": url for name, url in former.urls.items()} | {"SERVICE_KEY": KEY}
    brandctl = Operator(tmp_path, ours)
    other = tmp_path / "other.env"
    lines = [f"{name.upper()}_URL={url}" for name, url in second.urls.items()]
    other.write_text("\n".join([f"INSTALLATION={B}", "SERVICE_KEY_FILE=key", *lines]))
    (tmp_path / "key").write_text(KEY)

    looked = await brandctl("brands", "move", "acme", "--to", "other.env", "--dry-run")
    assert (looked.code, "acme can move to https://second.example; nothing was changed" in looked.err) == (
        0,
        True,
    ), looked.err
    assert (await former.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is None

    # The other side is away: the same command continues once it is back.
    away = tmp_path / "away.env"
    away.write_text(other.read_text().replace(second.urls["social"], "http://127.0.0.1:1"))
    failed = await brandctl("brands", "move", "acme", "--to", "away.env")
    assert (failed.code, "cannot be reached" in failed.err, "repeat" in failed.err) == (1, True, True), (
        failed.err
    )

    done = await brandctl("brands", "move", "acme", "--to", "other.env")
    assert done.code == 0, done.err
    for text in (
        "acme has moved to https://second.example",
        "was paused for",
        "connect there: channel mastodon-eu",
    ):
        assert text in done.err, done.err
    await check_arrived(second, before)
    again = await brandctl("brands", "move", "acme", "--to", "other.env", "--json")
    assert (again.code, again.json()["step"]) == (0, "resumed")
    late = await brandctl("brands", "move", "acme", "--to", "other.env", "--cancel")
    assert (late.code, "cannot stay here" in late.err) == (1, True)
    (tmp_path / "none.env").write_text(f"SERVICE_KEY={KEY}\n")
    wrong = await brandctl("brands", "move", "acme", "--to", "none.env")
    assert (wrong.code, "lacks ORCHESTRATOR_URL" in wrong.err, KEY in wrong.told) == (2, True, False)
