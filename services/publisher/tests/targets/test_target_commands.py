"""`brandctl targets`, as an operator at a shell has it."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.targets import publications
from publisher.targets.settings import TargetSettings
from publisher.urls import SiteUrls
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


async def test_what_is_named_changes_and_what_is_where_is_listed(
    database: Database, targets: Any, tmp_path: Path
) -> None:
    urls = SiteUrls.under("https://example.org")
    sites = create_app(database, urls, articles_per_page=2)
    async with serving(create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)) as origin:
        run = Operator(tmp_path, {"PUBLISHER_URL": origin, "SERVICE_KEY": KEY}, "targets")
        place = ("daily-grind", "files")
        done = await run("set", *place, "--profile", "astro", "--category", "Coffee", "--author", "ada")
        assert (done.code, "astro" in done.out) == (0, True), done.err
        told = await run.json(
            "set", *place, "--clear", "author", "--no-cover", "--address", "https://acme.example/{slug}/"
        )
        async with database.connection() as connection:
            kept = await publications.settings_of(connection, *place)
        assert kept == TargetSettings.model_validate(told["settings"])
        assert kept == TargetSettings(
            profile="astro", categories=("Coffee",), cover=False, address="https://acme.example/{slug}/"
        )
        refused = await run("set", "daily-grind", "site", "--author", "ada")
        assert (refused.code, "brandctl site set" in refused.err) == (1, True), refused.err
        refused = await run("set", *place, "--folder", "../elsewhere")
        assert (refused.code, "folder" in refused.err) == (1, True), refused.err

        content_id = targets.orchestrator.add()
        await targets.publish(content_id, "files")
        listed = await run("articles", "daily-grind")
        assert f"{content_id}\tfiles\tfiles\tpublished\thttps://acme.example/" in listed.out
