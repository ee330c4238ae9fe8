"""The site's settings beside a real publisher, and the pages in a real browser."""

from collections.abc import AsyncIterator
from html import unescape
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import asyncpg
import httpx
import pytest
from PIL import Image
from playwright.async_api import Page

from client import Address
from client.services.publisher import AsyncPublisher

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
SITE = "/b/acme/site"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
FIELDS = {"accent": "#1f6154", "typefaces": "sans", "was-typefaces": "serif", "tags": "espresso\ntea"}


@pytest.fixture
async def publisher(service_urls: dict[str, str]) -> AsyncIterator[AsyncPublisher]:
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as client:
        yield client


@pytest.mark.extended
async def test_settings_are_saved_once_and_what_others_changed_stays(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    assert "The site has no logo." in (await person.get(SITE)).text
    await publisher.update_site_settings("acme", author={"name": "Ada"})
    saved, again = [await person.post(SITE, data={"once": "s1", **FIELDS}) for _ in range(2)]
    assert saved.headers["location"] == again.headers["location"] == f"{SITE}?done=saved"
    found = await publisher.get_site_settings("acme")
    assert (found["accent"], found["typefaces"], found["tags"]) == ("#1f6154", "sans", ["espresso", "tea"])
    assert found["author"] == {"name": "Ada", "about": ""}
    shown = await person.get(saved.headers["location"])
    assert 'value="#1f6154"' in shown.text


async def test_of_two_who_change_the_same_the_second_is_told_and_loses_nothing(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    typed = {
        "accent": "#102030",
        "was-accent": "",
        "about": "<i>Mine",
        "was-about": "",
        "was-typefaces": "serif",
    }
    typed |= {"typefaces": "serif"}
    await publisher.update_site_settings("acme", accent="#aa0000", author={"name": "Theirs", "about": ""})
    told = await person.post(SITE, data={"once": "c1", **typed})
    assert told.status_code == 412
    for word in ("Another person changed", "#aa0000", 'value="#102030"', "&lt;i&gt;Mine", 'value="Theirs"'):
        assert word in told.text
    assert (await publisher.get_site_settings("acme"))["accent"] == "#aa0000"
    again = typed | {"was-accent": "#aa0000", "author": "Theirs", "was-author": "Theirs"}
    assert (await person.post(SITE, data={"once": "c2", **again})).status_code == 303
    found = await publisher.get_site_settings("acme")
    assert (found["accent"], found["author"]) == ("#102030", {"name": "Theirs", "about": "<i>Mine"})


@pytest.mark.extended
async def test_a_site_is_seen_before_it_is_saved(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    typed = {
        "accent": "#102030",
        "typefaces": "serif",
        "was-typefaces": "serif",
        "menu": "Shop | https://shop.example",
    }
    shown = await person.post(f"{SITE}/preview", data={"once": "p1", **typed})
    assert shown.status_code == 200
    assert "nothing of it is saved yet" in shown.text
    frame = unescape(shown.text.partition('sandbox src="')[2].partition('"')[0])
    assert frame.startswith(f"{SITE}/look?settings=")
    look = await person.get(frame)
    assert (">Shop</a>" in look.text, "#102030" in look.text) == (True, True)
    assert look.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert (await publisher.get_site_settings("acme"))["menu"] == []
    for path in (SITE, f"{SITE}/preview"):
        refused = await person.post(path, data={"once": path, **typed, "menu": "About us = /<b>"})
        assert "The line “About us = /&lt;b&gt;” of the menu has no title" in refused.text
    refused = await person.post(SITE, data={"once": "m1", **typed, "menu": "Tea | /tea\nShop | shop"})
    assert "Menu, entry 2: &#39;shop&#39; is no address: begin it" in refused.text
    assert (await publisher.get_site_settings("acme"))["menu"] == []
    wrong = await person.get(f"{SITE}/look", params={"settings": '{"accent": "<b>"}'})
    assert (wrong.status_code, "<b>" in wrong.text) == (422, False)


@pytest.mark.extended
async def test_a_logo_is_set_once_and_refused_in_a_sentence(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    put = f"{SITE}/logo?once=l1"
    told = [await person.post(put, content=picture()) for _ in range(2)]
    assert [(each.status_code, each.text) for each in told] == [
        (200, "The site has the new logo. Pages show it within a minute.")
    ] * 2
    assert (await publisher.get_logo("acme"))["width"] == 40
    assert 'src="data:image/png;base64,iVBOR' in (await person.get(f"{SITE}/look")).text
    refused = {
        b"<svg xmlns='http://www.w3.org/2000/svg'/>": (422, "The file is no PNG"),
        picture()[:60]: (422, ""),
        picture() + b"x" * 1_000_000: (413, "more than 1 MB"),
    }
    for number, (content, (status, sentence)) in enumerate(refused.items()):
        answer = await person.post(f"{SITE}/logo?once=no{number}", content=content)
        assert (answer.status_code, sentence in answer.text) == (status, True)
    removed = await person.post(f"{SITE}/logo/remove", data={"once": "l2"})
    assert removed.headers["location"] == f"{SITE}?done=logo_removed"
    assert "The site has no logo." in (await person.get(SITE)).text


def picture() -> bytes:
    made = BytesIO()
    Image.new("RGB", (40, 20), "#1f6154").save(made, "PNG")
    return made.getvalue()


@pytest.mark.extended
async def test_a_refused_form_keeps_what_was_typed(acme: None, person: httpx.AsyncClient) -> None:
    answer = await person.post(SITE, data={"once": "s1", "address": "http://<b>", "author": "Ada <i>"})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'value="http://&lt;b&gt;"' in answer.text
    assert 'value="Ada &lt;i&gt;"' in answer.text


@pytest.mark.extended
async def test_the_whole_site_is_downloaded_as_the_publisher_makes_it(
    console: Any, acme: None, person: httpx.AsyncClient, publisher_database_url: str, another: Any
) -> None:
    assert "Download the site as files" in (await person.get(SITE)).text
    none = await person.post(f"{SITE}/export", data={"once": "e0"})
    assert (none.status_code, 'role="alert"' in none.text) == (404, True)
    await publish_page(publisher_database_url)
    answer = await person.post(
        f"{SITE}/export", data={"once": "e1", "export_address": "https://example.org/news"}
    )
    assert answer.headers["content-disposition"] == 'attachment; filename="acme-site.zip"'
    with ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        page = archive.read("acme/cold-brew.html").decode()
    assert "https://example.org/news/cold-brew" in page
    assert "<script>window" not in page
    wrong = await person.post(f"{SITE}/export", data={"once": "e2", "export_address": "javascript:<b>"})
    assert (wrong.status_code, 'value="javascript:&lt;b&gt;"' in wrong.text) == (422, True)
    async with another("editor", ["acme"]) as eve:
        assert "Download the site as files" not in (await eve.get(SITE)).text
        assert (await eve.post(f"{SITE}/export", data={"once": "e3"})).status_code == 403
    await console.orchestrator.set_brand("rival", name="Rival")
    async with another("operator", ["rival"], "Olga") as olga:
        assert (await olga.post(f"{SITE}/export", data={"once": "e4"})).status_code == 404


async def publish_page(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "insert into sites (brand_slug, name, description, language) values ('acme', 'Acme', '', 'en')"
            " on conflict do nothing"
        )
        await connection.execute(
            """
            insert into pages (content_id, brand_slug, slug, keyword, title, meta_description, body_html, sections, sources,
                               cited, word_count, content_updated_at, markup_version)
            values (gen_random_uuid(), 'acme', 'cold-brew', 'cold brew', $1, '', '<p>It steeps.</p>', '[]', '[]', '{}', 2,
                    now(), 1000)
            """,
            HOSTILE,
        )
    finally:
        await connection.close()


@pytest.mark.extended
async def test_search_engines_are_told_or_not_and_what_is_missing_is_said(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher, another: Any
) -> None:
    shown = (await person.get(SITE)).text
    assert "Search engines are not told." in shown
    assert 'href="/b/acme/accounts/connect/indexnow"' in shown
    told = [await person.post(f"{SITE}/indexnow/on", data={"once": "i1"}) for _ in range(2)]
    assert {each.headers["location"] for each in told} == {f"{SITE}?done=indexnow_on#indexnow"}
    shown = (await person.get(f"{SITE}?done=indexnow_on")).text
    assert "Search engines are told of changed pages from now on." in shown
    assert "Nothing was told yet." in shown
    first = await publisher.get_indexnow("acme")
    assert first["is_on"]
    off = await person.post(f"{SITE}/indexnow/off", data={"once": "i4"}, follow_redirects=True)
    assert "Search engines are told nothing more." in off.text
    assert not (await publisher.get_indexnow("acme"))["is_on"]
    assert (await person.get(f"{SITE}/indexnow/on")).headers["location"] == SITE
    assert (await person.post(f"{SITE}/indexnow/maybe", data={"once": "i2"})).status_code == 422
    async with another("viewer", ["acme"]) as eve:
        assert "Tell search engines of changed pages" not in (await eve.get(SITE)).text
        assert (await eve.post(f"{SITE}/indexnow/on", data={"once": "i3"})).status_code == 403
    assert not (await publisher.get_indexnow("acme"))["is_on"]


@pytest.mark.extended
async def test_defaults_are_restored_only_after_the_password(
    console: Any, acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    await publisher.update_site_settings("acme", accent="#1f6154")
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    for path in ("reset", "logo/remove"):
        asked = await person.post(f"{SITE}/{path}", data={"once": path})
        assert asked.status_code == 403
    assert (await publisher.get_site_settings("acme"))["accent"] == "#1f6154"
    await person.post(f"{SITE}/reset", data={"once": "r1", "password_again": PASSWORD})
    assert (await publisher.get_site_settings("acme"))["accent"] is None


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, publisher: AsyncPublisher
) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "viewer")
        await eve.post(link, data={"name": "Eve", "password": PASSWORD})
        shown = (await eve.get(SITE)).text
        assert "<fieldset disabled" in shown
        assert "Save the settings" not in shown
        assert "Restore all defaults" not in shown
        for path in (SITE, f"{SITE}/reset", f"{SITE}/logo", f"{SITE}/logo/remove"):
            assert (await eve.post(path, data={"once": "x", **FIELDS})).status_code == 403, path
    assert (await publisher.get_site_settings("acme"))["accent"] is None


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_saves_in_a_browser_and_axe_finds_nothing(
    console: Any,
    acme: None,
    signed_in: Page,
    publisher: AsyncPublisher,
    page_checks: Any,
    width: int,
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + SITE)
    await page.fill("[name=accent]", "#1f6154")
    await page.fill("[name=author]", "<script>window.hit = 1</script>")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of the site").click()
    logo = {"name": "logo.png", "mimeType": "image/png", "buffer": picture()}
    await page.set_input_files("[data-logo] input", {**logo, "buffer": b"no picture"})
    await page.get_by_text("The file is no PNG").wait_for()
    await page.set_input_files("[data-logo] input", logo)  # type: ignore[arg-type]  # a FilePayload
    await page.locator("[data-logo] canvas").wait_for()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Use this logo").click()
    await page.get_by_text("The site has the new logo.").wait_for()
    await page.fill("[name=menu]", "Shop | https://shop.example")
    async with page.expect_navigation():
        await page.get_by_role("button", name="See it before saving").click()
    inside = page.frame_locator("iframe").first
    await inside.get_by_role("link", name="Shop").wait_for()
    assert (await inside.locator("img.logo").get_attribute("src") or "").startswith("data:image/png")
    assert (await publisher.get_site_settings("acme"))["menu"] == []
    await page.goto(f"{console.url}/b/acme/accounts")
    await page.fill("[name=name]", "company-blog")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Set up this target").click()
    await page.select_option("[name=kind]", "ghost")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of company-blog").click()
    assert "The settings are saved." in await page.inner_text("main")
    assert (await publisher.get_target("acme", "company-blog"))["settings"]["kind"] == "ghost"
    for path in (SITE, "/b/acme/accounts", "/b/acme/accounts/targets/company-blog"):
        await page.goto(console.url + path)
        await page.evaluate("document.querySelectorAll('main details').forEach((each) => each.open = true)")
        assert await page.evaluate("window.hit") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert await page_checks.accessibility(page) == [], path
