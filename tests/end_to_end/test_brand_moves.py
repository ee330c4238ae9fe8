"""A brand exported at one installation and imported at another: it looks the same there, and nothing is posted or published anew."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from client import RefusedError
from client.archive_reading import ArchiveError, open_archive, read_contents, read_manifest
from client.brand_archive import PARTS, BrandArchive
from client.brand_import import BrandImport
from orchestrator.erasure.store import remove_own
from publisher.erasure import _remove as remove_pages
from research.erasure import _remove as remove_research
from social.erasure import _remove as remove_posts
from tests.fixtures.brands.installation import KEY, Installation, fill_acme, installation
from tests.fixtures.commands.brandctl import Operator

A, B = "https://former.example", "https://second.example"


@pytest.fixture
async def former(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, A) as made:
        yield made


@pytest.fixture
async def second(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, B) as made:
        yield made


async def export(made: Installation) -> bytes:
    def write() -> bytes:
        file = BytesIO()
        orchestrator, research, publisher, social = made.clients()
        with orchestrator, research, publisher, social, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            BrandArchive(archive, "acme", orchestrator).write_all(research, publisher, social)
        return file.getvalue()

    return await asyncio.to_thread(write)


async def bring(
    made: Installation,
    archive: bytes,
    progress: Callable[[str], None] = lambda _: None,
    slug: str | None = None,
) -> Any:
    def read() -> Any:
        orchestrator, research, publisher, social = made.clients()
        with orchestrator, research, publisher, social, open_archive(BytesIO(archive)) as opened:
            return BrandImport(opened, orchestrator, research, publisher, social, progress, slug).run()

    return await asyncio.to_thread(read)


def here(rows: Any) -> Any:
    """The rows with the addresses of the second installation."""
    return json.loads(json.dumps(rows).replace(f"{A}/sites/acme/", f"{B}/sites/acme/"))


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


async def all_rows(made: Installation) -> dict[str, list[dict[str, Any]]]:
    return {
        f"{service}/{part}": await made.rows(service, part)
        for service, parts in PARTS.items()
        for part in parts
    }


async def test_a_brand_looks_the_same_at_another_installation(
    former: Installation, second: Installation
) -> None:
    articles = await fill_acme(former)
    before = await all_rows(former)
    assert all(
        rows
        for name, rows in before.items()
        if name not in {"orchestrator/former-addresses", "publisher/deleted-pages", "social/pending-posts"}
    )

    report = await bring(second, await export(former))

    assert (report.had_ended, report.known, report.not_taken) == (False, 0, [])
    assert report.connect_again == ["channel mastodon-eu"]
    after = await all_rows(second)
    changed = {
        "orchestrator/keywords",
        "orchestrator/schedules",
        "social/channel-posts",
        "research/research",
    }
    for name in before.keys() - changed:
        assert after[name] == here(before[name]) or name == "publisher/logos", name
    await _work_does_not_go_on(before, after)
    assert await second.outbox() == []
    brand = await second.ask("orchestrator", "GET", "/v1/brands/acme")
    assert (brand["paused_at"] is not None, brand["policy"]["tone"]) == (True, "Plain.")
    shown, expected = [
        await made.ask("publisher", "GET", "/v1/brands/acme/site") for made in (second, former)
    ]
    assert shown == here(expected)
    (document,) = (await second.ask("research", "GET", "/v1/brands/acme/documents"))["items"]
    assert (document["name"], document["title"], document["own"]) == ("notes.md", "Notes", True)
    draft = await second.ask("orchestrator", "GET", f"/v1/drafts/{articles['draft']}")
    assert (draft["state"], draft["version"]) == (
        (old := await former.ask("orchestrator", "GET", f"/v1/drafts/{articles['draft']}"))["state"],
        old["version"],
    )


async def _work_does_not_go_on(before: dict[str, Any], after: dict[str, Any]) -> None:
    keywords, old = after["orchestrator/keywords"], before["orchestrator/keywords"]
    assert [each["state"] for each in old] == ["promoting", "needs_review", "queued", "queued"]
    assert [each["state"] for each in keywords] == ["completed", "needs_review", "cancelled", "cancelled"]
    assert keywords[0]["posts"][1]["reason"].startswith("the brand moved")
    assert keywords[1] == here(old[1])
    (schedule,) = after["orchestrator/schedules"]
    assert schedule["state"] == "paused"
    assert without([schedule], "state") == without(before["orchestrator/schedules"], "state")
    posts = after["social/channel-posts"]
    assert [each["state"] for each in posts] == ["posted", "waiting", "failed", "failed"]
    assert posts[0] == before["social/channel-posts"][0]
    assert posts[1]["material"]["link"] == f"{B}/sites/acme/cold-brew"


async def test_a_brand_arrives_under_another_slug_and_is_not_copied_within_an_installation(
    former: Installation, second: Installation
) -> None:
    await fill_acme(former)
    archive = await export(former)
    with open_archive(BytesIO(archive)) as opened:
        contents = read_contents(opened)
    assert (contents.brand, contents.connect_again) == ("acme", ("channel mastodon-eu",))
    assert (contents.counts["documents"], contents.counts["articles"]) == (1, 2)

    report = await bring(second, archive, slug="coffee")

    assert (report.brand, report.not_taken) == ("coffee", [])
    before = json.loads(json.dumps(await all_rows(former)).replace(f"{A}/sites/acme/", f"{B}/sites/coffee/"))
    for name in ("orchestrator/articles", "orchestrator/cycles", "publisher/pages", "publisher/short-links"):
        service, part = name.split("/")
        assert await second.rows(service, part, "coffee") == before[name], name
    page = await second.ask("publisher", "GET", "/sites/coffee/cold-brew", fine=False)
    assert (page.status_code, "/sites/acme" in page.text) == (200, False)
    assert (await bring(second, archive, slug="coffee")).had_ended

    for made, owner in ((former, "acme"), (second, "coffee")):
        with pytest.raises(ArchiveError, match=f"here already, as “{owner}”") as refused:
            await bring(made, archive, slug="copy")
        assert (refused.value.code, refused.value.about) == ("here_already", owner)
        assert (await made.ask("orchestrator", "GET", "/v1/brands/copy", fine=False)).status_code == 404
    with pytest.raises(ArchiveError, match="no slug of a brand"):
        await bring(second, archive, slug="../x")


async def test_pages_have_the_same_addresses_dates_and_texts(
    former: Installation, second: Installation
) -> None:
    await fill_acme(former)
    await bring(second, await export(former))
    for path in ("", "cold-brew", "tags/cold-brew", "authors/ada", "feed.xml", "sitemap.xml"):
        pages = []
        for made in (former, second):
            answer = await made.ask("publisher", "GET", f"/sites/acme/{path}", fine=False)
            assert answer.status_code == 200, (path, answer.text)
            pages.append(answer.text)
        there = pages[0].replace(A, B).replace(quote(A, safe=""), quote(B, safe=""))
        # The front page has changed with its addresses.
        assert _without_today(pages[1]) == _without_today(there), path
    moved = await second.ask("publisher", "GET", "/sites/acme/colder-brew", fine=False)
    assert (moved.status_code, moved.headers["location"]) == (301, "/sites/acme/cold-brew")


def _without_today(page: str) -> str:
    return re.sub("<lastmod>(?!2025)[^<]*", "<lastmod>", page)


@pytest.mark.extended
async def test_an_import_that_broke_off_goes_on_and_the_same_archive_twice_changes_nothing(
    former: Installation, second: Installation
) -> None:
    await fill_acme(former)
    archive = await export(former)
    steps: list[str] = []
    whole = await bring(second, archive, steps.append)

    class Killed(BaseException):
        pass

    for last in range(len(steps)):
        # The brand is gone before each attempt, as at an installation that never had it.
        await forget(second)
        seen: list[str] = []

        def stop(step: str, last: int = last, seen: list[str] = seen) -> None:
            seen.append(step)
            if len(seen) > last:
                raise Killed

        with pytest.raises(Killed):
            await bring(second, archive, stop)
        continued = await bring(second, archive)
        assert (continued.had_ended, continued.added["publisher/pages"] <= 1) == (False, True)
    after = await all_rows(second)
    await second.ask("orchestrator", "POST", "/v1/brands/acme/resume")
    again = await bring(second, archive)
    assert (again.had_ended, again.added) == (True, {"orchestrator/settings": 0})
    assert await all_rows(second) == after
    assert (await second.ask("orchestrator", "GET", "/v1/brands/acme"))["paused_at"] is None
    assert whole.added["publisher/pages"] == 1


async def forget(made: Installation) -> None:
    for service, remove in (
        ("orchestrator", remove_own),
        ("publisher", remove_pages),
        ("research", remove_research),
        ("social", remove_posts),
    ):
        async with made.databases[service].transaction() as tx:
            await remove(tx.connection, "acme")


async def test_a_brand_with_other_data_is_left_alone(former: Installation, second: Installation) -> None:
    await fill_acme(former)
    await second.ask("orchestrator", "PUT", "/v1/brands/acme", json={"name": "Somebody else"})
    with pytest.raises(RefusedError) as refused:
        await bring(second, await export(former))
    assert (refused.value.status, refused.value.code) == (409, "brand_has_data")
    assert (await second.ask("orchestrator", "GET", "/v1/brands/acme"))["name"] == "Somebody else"
    # At the installation that it comes from, it is there, too.
    with pytest.raises(RefusedError) as known:
        await bring(former, await export(former))
    assert known.value.code == "brand_has_data"


REFUSED: list[tuple[str, dict[str, Any], str, int]] = [
    ("orchestrator/articles", {"published_url": "javascript:alert(1)"}, "web address", 422),
    ("orchestrator/articles", {"sources": [{"n": "x"}]}, "sources", 422),
    ("orchestrator/articles", {"title": "x" * 3_000}, "title", 422),
    ("orchestrator/articles", {"title": "a\x00b"}, "cannot be stored", 422),
    ("orchestrator/articles", {"brand_slug": "rival"}, "brand_slug", 422),
    ("orchestrator/cycles", {"target": None}, "target", 422),
    ("orchestrator/keywords", {"posts": [{"url": "x"}]}, "posts", 422),
    ("orchestrator/keywords", {"cycle_id": str(UUID(int=7))}, "import its cycles first", 404),
    ("orchestrator/settings", {"writer": "poet"}, "writer", 422),
    ("research/research", {"sources": [{"n": 1}]}, "sources", 422),
    ("publisher/pages", {"slug": "../../etc"}, "slug", 422),
    # The orchestrator may yet get the article: so it may be tried again.
    ("publisher/pages", {"content_id": str(UUID(int=7))}, "does not know content", 503),
    ("publisher/logos", {"body": "\\x00"}, "logos", 422),
    ("social/channel-posts", {"material": {}}, "material", 422),
    ("social/posting-rules", {"rules": {"slots": 7}}, "slots", 422),
]


async def test_rows_that_no_export_writes_are_refused(former: Installation, second: Installation) -> None:
    await fill_acme(former)
    archive = await export(former)
    for part, change, complaint, status in REFUSED:
        with pytest.raises(RefusedError, match=complaint) as refused:
            await bring(second, changed(archive, f"copy/{part}.jsonl", change))
        assert refused.value.status == status, part
        await forget(second)
    assert (await bring(second, archive)).added["publisher/pages"] == 1


def changed(archive: bytes, name: str, change: dict[str, Any]) -> bytes:
    """The archive with the first row of a file changed."""
    made = BytesIO()
    with ZipFile(BytesIO(archive)) as before, ZipFile(made, "w", ZIP_DEFLATED) as after:
        for entry in before.infolist():
            content = before.read(entry)
            if entry.filename == name:
                first, *others = content.splitlines()
                content = b"\n".join([json.dumps({**json.loads(first), **change}).encode(), *others]) + b"\n"
            after.writestr(entry.filename, content)
    return made.getvalue()


async def test_html_of_an_archive_is_text_on_the_page(former: Installation, second: Installation) -> None:
    await fill_acme(former)
    hostile = {
        "body_markdown": "## A\n\n<script>alert(1)</script> [x](javascript:alert(1))\n",
        "title": "<b>Cold</b>",
    }
    await bring(second, changed(await export(former), "copy/orchestrator/articles.jsonl", hostile))
    page = (await second.ask("publisher", "GET", "/sites/acme/cold-brew", fine=False)).text
    assert ("<script>alert" in page, "<b>Cold" in page, 'href="javascript' in page) == (False, False, False)
    assert "&lt;script&gt;" in page


async def test_rows_of_another_brand_are_not_taken(former: Installation, second: Installation) -> None:
    articles = await fill_acme(former)
    await second.ask("orchestrator", "PUT", "/v1/brands/rival", json={"name": "Rival"})
    async with second.databases["orchestrator"].transaction() as tx:
        await tx.connection.execute(
            "insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown, word_count,"
            " key_points, sources) values ($1, 'rival', 'x', $1, 'x', 'X', '', 'x', 1, '{}', '[]')",
            articles["page"],
        )
    with pytest.raises(RefusedError) as refused:
        await bring(second, await export(former))
    assert (refused.value.status, refused.value.code) == (409, "rows_collide")
    async with second.databases["orchestrator"].connection() as connection:
        assert (
            await connection.fetchval(
                "select brand_slug from content where content_id = $1", articles["page"]
            )
            == "rival"
        )


async def test_the_command_imports_what_the_command_exported(
    former: Installation, second: Installation, tmp_path: Path
) -> None:
    await fill_acme(former)
    ours, theirs = (
        {f"{name.upper()}_URL": url for name, url in made.urls.items()} | {"SERVICE_KEY": KEY}
        for made in (former, second)
    )
    written = await Operator(tmp_path, ours)("brands", "export", "acme", "--to", "acme.zip")
    assert written.code == 0, written.err
    brandctl = Operator(tmp_path, theirs)
    done = await brandctl("brands", "import", "acme.zip")
    assert done.code == 0, done.err
    assert "brandctl brands resume acme" in done.err
    assert "connect again: channel mastodon-eu" in done.err
    assert "publisher/pages\t1" in done.out
    again = await brandctl("brands", "import", "acme.zip", "--json")
    assert (again.code, again.json()["had_ended"]) == (0, True)
    here = await Operator(tmp_path, ours)("brands", "import", "acme.zip")
    assert (here.code, "'acme' has data here" in here.err) == (1, True), here.err
    (tmp_path / "text.zip").write_text("no zip")
    wrong = await brandctl("brands", "import", "text.zip")
    assert (wrong.code, "no archive of a brand" in wrong.err) == (1, True), wrong.err


def zipped(**files: bytes) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_json", ".json"), content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("archive", "complaint"),
    [
        (b"no zip", "no archive of a brand"),
        (zipped(brand_json=b"{}"), "no manifest.json"),
        (zipped(manifest_json=b"[]"), "none of an export"),
        (zipped(manifest_json=b'{"brand": "acme"}'), "export the brand again"),
        (zipped(manifest_json=b'{"brand": "acme", "format": 3}'), "this version reads 2"),
        (
            zipped(manifest_json=b'{"brand": "acme", "format": 2, "copied": ["social"]}'),
            "lacks the rows of orchestrator",
        ),
        (zipped(manifest_json=b"{" * 100_000), "no JSON"),
        (zipped(bomb=b"0" * 50_000_000), "500 times its size"),
        (zipped(**{f"f{number}": b"" for number in range(31)}), "more than 30 files"),
    ],
    ids=["text", "no manifest", "list", "first format", "later format", "a part", "nested", "bomb", "many"],
)
def test_files_that_are_no_archives_are_refused_with_a_sentence(
    archive: bytes, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "archive.zip"
    file.write_bytes(archive)
    with pytest.raises(ArchiveError, match=complaint), open_archive(str(file), most_entries=30) as opened:
        read_manifest(opened)
